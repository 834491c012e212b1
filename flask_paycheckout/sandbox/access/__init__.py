"""Access to a shared sandbox: signing in, sessions, and what a team may call and see."""
