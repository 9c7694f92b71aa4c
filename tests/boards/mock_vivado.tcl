# Runs a script of Vivado where there is no Vivado: each command is written down, one a line.
# Usage: tclsh mock_vivado.tcl RECORD SCRIPT
lassign $argv record script
set ::out [open $record w]
proc note {args} { puts $::out $args }

# Commands whose answer the script looks at.
proc get_cells {args} { return {} }
proc get_ports {name} { return $name }
proc get_nets {args} { return [lindex $args end] }
proc get_pins {args} { return {} }
proc get_clocks {args} { return [lindex $args end] }
proc get_ips {args} { return [lindex $args end] }
proc get_files {args} { return [lindex $args end] }
proc get_hw_devices {} { return fpga }
proc current_design {} { return design }
proc get_timing_paths {args} { return $::env(MOCK_PATHS) }
proc get_property {name object} { return $::env(MOCK_SLACK) }
proc read_xdc {file} {
    note read_xdc $file
    uplevel #0 [list source $file]
}
proc quit {} {
    note quit
    close $::out
    exit 0
}
# All others.
proc unknown {args} { note {*}$args }

set argv [lrange $argv 2 end]
source $script
