//! A coarse mesh around a fine one, with a copy for every part that is not connected.
