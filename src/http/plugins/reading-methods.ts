export const READING_METHODS = ['GET', 'HEAD', 'OPTIONS'];

export const isReading = (method: string): boolean => READING_METHODS.includes(method);
