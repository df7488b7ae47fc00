/** Latency modes, and how far viewers are behind the encoder. */
export const latencyModes = [
  ['low', 'Low: about 2 seconds'],
  ['reduced', 'Reduced: about 8 seconds'],
  ['standard', 'Standard: about 15 seconds'],
] as const;

/** Seconds that a broadcast waits for its encoder unless told. */
export const defaultWindow = (mode: string): number => (mode === 'standard' ? 60 : 0);
