"""Text to tokens: tokenizers out of model files, and chat templates."""
