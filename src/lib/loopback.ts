/** Whether a host name or IP address stands for this machine. */
export const isLoopback = (host: string): boolean => /^(localhost|127\..*|\[?::1\]?)$/.test(host);
