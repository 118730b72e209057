"""Small helpers that know nothing of bags: files that are whole or absent, locks, names, messages."""
