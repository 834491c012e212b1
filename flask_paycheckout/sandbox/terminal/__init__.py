"""The sandbox driven from a terminal: commands that call the control interface of a running one."""
