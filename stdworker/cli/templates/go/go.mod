module kind

go 1.19
