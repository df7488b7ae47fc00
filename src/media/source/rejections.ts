/**
 * Messages for the owner of a file that can't be played. They match the API documentation word for
 * word.
 */
export const rejections = {
  notMedia: 'The input file is not a valid video file.',
  /** When the cause is unknown. */
  damaged: "The input file is damaged and can't be played.",
  /** FFmpeg knows the feature but does not implement it, for example a codec profile. */
  unsupported: 'The input file uses a feature of its format or codec that is not supported.',
  /** No filter takes the decoded frames. */
  unsupportedFrames: "The input file can't be converted: the pixels or the colors of its video are not supported.",
  compression: (type: 'video' | 'audio'): string => `The ${type} is compressed with bzip2, which is not supported.`,
  encrypted: (type: 'video' | 'audio'): string => `The ${type} is encrypted. Remove its DRM protection first.`,
  damagedBy: (reason: string): string => `The file is damaged: ${reason}.`,
  noMedia: 'The input file does not contain any video or audio.',
  format: (name: string): string => `The file format ${name} is not supported.`,
  codec: (type: 'video' | 'audio', name: string): string => `The ${type} codec ${name} is not supported.`,
} as const;
