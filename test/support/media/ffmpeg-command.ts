import { findTool } from '#kinora/lib/find-tool.js';

/**
 * The path of the system's `ffmpeg`, with which some tests make their files; undefined where it is
 * not installed.
 */
export const ffmpegPath = findTool('ffmpeg');
