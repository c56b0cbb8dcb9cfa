"use strict";

// Animation: patches painted one over the other, so that any frame can be reached from the first.
for (const player of document.querySelectorAll(".player")) {
  const movie = JSON.parse(player.querySelector("script").textContent);
  const canvas = player.querySelector("canvas");
  const context = canvas.getContext("2d");
  const button = player.querySelector("button");
  const slider = player.querySelector("input");
  const speed = player.querySelector("select");
  const clock = player.querySelector("output");
  let shown = -1;
  let started = null;

  const patches = movie.frames.map((frame) => {
    const image = new Image();
    image.src = "data:image/png;base64," + frame.png;
    return { image, x: frame.x, y: frame.y };
  });

  function show(frame) {
    if (frame === shown) return;
    if (frame < shown) shown = -1;
    for (let i = shown + 1; i <= frame; i++) {
      const { image, x, y } = patches[i];
      // A whole picture replaces the one before; where it is clear, nothing may shine through.
      if (image.naturalWidth === canvas.width && image.naturalHeight === canvas.height) context.clearRect(0, 0, canvas.width, canvas.height);
      if (image.naturalWidth > 0) context.drawImage(image, x, y);
    }
    shown = frame;
    slider.value = frame;
    const time = (movie.start + frame * movie.step).toFixed(2) + " s";
    clock.textContent = time;
    slider.setAttribute("aria-valuetext", time);
  }

  function tick(now) {
    if (started === null) return;
    const frame = Math.floor(((now - started) / 1000) * Number(speed.value) / movie.step);
    if (frame >= patches.length) started = now;
    show(Math.max(0, Math.min(frame, patches.length - 1)));
    requestAnimationFrame(tick);
  }

  function play() {
    const at = shown >= patches.length - 1 ? 0 : Math.max(0, shown);
    started = performance.now() - (at * movie.step * 1000) / Number(speed.value);
    button.textContent = "Pause";
    requestAnimationFrame(tick);
  }

  function pause() {
    started = null;
    button.textContent = "Play";
  }

  const toggle = () => (started === null ? play() : pause());
  button.addEventListener("click", toggle);
  canvas.addEventListener("click", toggle);
  slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
  speed.addEventListener("change", () => { if (started !== null) { pause(); play(); } });
  // A picture that cannot be decoded is skipped: the others are worth seeing.
  const decoded = patches.map((patch) => patch.image.decode().catch(() => {}));
  decoded[0].then(() => show(0));
  Promise.all(decoded).then(() => {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (patches.length > 1 && !calm && !location.hash.includes("still")) play();
    if (location.hash.includes("still")) show(Math.floor(patches.length / 2));
  });
}

// Plots: the values under the pointer.
for (const plot of document.querySelectorAll(".plot")) {
  const data = JSON.parse(plot.querySelector("script").textContent);
  const svg = plot.querySelector("svg");
  const cursor = plot.querySelector(".cursor");
  const readout = plot.querySelector(".readout");
  const text = (value) => (value === null ? "–" : String(Number(value.toPrecision(6))));

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * data.width;
    const wanted = data.min + ((at - data.left) / (data.right - data.left)) * (data.max - data.min);
    let best = -1;
    data.x.forEach((x, i) => { if (x !== null && (best < 0 || Math.abs(x - wanted) < Math.abs(data.x[best] - wanted))) best = i; });
    if (best < 0) return;
    const span = data.max - data.min || 1;
    const x = data.left + ((data.x[best] - data.min) / span) * (data.right - data.left);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.style.visibility = "visible";
    const rows = data.lines.map((line) => line.label + "  " + text(line.values[best]));
    readout.textContent = [data.xLabel + "  " + text(data.x[best]), ...rows].join("\n");
    readout.style.display = "block";
    const place = (x / data.width) * box.width;
    readout.style.left = place < box.width / 2 ? place + 16 + "px" : "auto";
    readout.style.right = place < box.width / 2 ? "auto" : box.width - place + 16 + "px";
  });
  svg.addEventListener("pointerleave", () => {
    cursor.style.visibility = "hidden";
    readout.style.display = "none";
  });

  // Files: the image for print, and the drawn values as a table.
  const save = (end, kind, content) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: kind }));
    link.download = data.file + "." + end;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const files = {
    svg: () => {
      const image = svg.cloneNode(true);
      image.querySelector(".cursor").remove();
      const [, , width, height] = image.getAttribute("viewBox").split(" ");
      image.setAttribute("width", width);
      image.setAttribute("height", height);
      image.prepend(document.getElementById("print-style").content.cloneNode(true));
      save("svg", "image/svg+xml", new XMLSerializer().serializeToString(image));
    },
    csv: () => {
      const quoted = (name) => (/[",\n]/.test(name) ? '"' + name.replaceAll('"', '""') + '"' : name);
      const unit = data.yLabel.includes("[") ? " " + data.yLabel.slice(data.yLabel.lastIndexOf("[")) : "";
      const columns = data.lines.some((line) => !line.own) ? [[data.xLabel, data.x]] : [];
      for (const line of data.lines) {
        if (line.own) columns.push([data.xLabel + " of " + line.label, line.own.x]);
        columns.push([line.label + unit, line.own ? line.own.values : line.values]);
      }
      const rows = Math.max(...columns.map(([, values]) => values.length));
      const lines = [columns.map(([name]) => quoted(name)).join(",")];
      for (let i = 0; i < rows; i++) lines.push(columns.map(([, values]) => values[i] ?? "").join(","));
      save("csv", "text/csv", lines.join("\n") + "\n");
    },
  };
  for (const button of plot.querySelectorAll("[data-file]")) button.addEventListener("click", files[button.dataset.file]);
}
