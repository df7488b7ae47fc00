/** Messages for the owner of a file that can't be played. They match the API documentation word for word. */
export const refusals = {
  notMedia: 'The input file is not a valid video file.',
  /** When the cause is unknown. */
  damaged: "The input file is damaged and can't be played.",
  damagedBy: (reason: string): string => `The file is damaged: ${reason}.`,
  noMedia: 'The input file does not contain any video or audio.',
  format: (name: string): string => `The file format ${name} is not supported.`,
  codec: (type: 'video' | 'audio', name: string): string => `The ${type} codec ${name} is not supported.`,
} as const;
