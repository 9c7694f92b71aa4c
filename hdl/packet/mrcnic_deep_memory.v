// One write port, one read port, no initial contents; infers block or ultra RAM.
// A read of the row that is written in the same cycle gives nothing to rely on.
module mrcnic_deep_memory #(
    parameter WIDTH = 8,
    parameter DEPTH = 16,
    parameter ROW_BITS = 4
) (
    input wire clk,
    input wire write_valid,
    input wire [ROW_BITS-1:0] write_row,
    input wire [WIDTH-1:0] write_data,
    input wire read_enable,
    input wire [ROW_BITS-1:0] read_row,
    output reg [WIDTH-1:0] read_data
);
    reg [WIDTH-1:0] contents [0:DEPTH-1];

    always @(posedge clk) begin
        if (write_valid)
            contents[write_row] <= write_data;
        if (read_enable)
            read_data <= contents[read_row];
    end
endmodule
