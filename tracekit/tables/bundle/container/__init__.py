"""The parts of a bundle: files, archives, stores of records, arrays; read and checked."""
