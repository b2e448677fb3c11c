"""What meets other tools: their files, their processes, their types; one file per host."""
