def format_language(name, dialect):
    return None
