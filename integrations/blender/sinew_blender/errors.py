"""What went wrong, in words for the panel."""


class Problem(Exception):
    """Something that the user can mend; its text says how."""
