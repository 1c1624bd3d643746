"""What fourtuple asks of the Linux kernel, one small module per thing asked.

Nothing here knows about port spaces, workloads or reports, and nothing here decides: these modules
read, set and try, and raise the kernel's own error where it says no.
"""
