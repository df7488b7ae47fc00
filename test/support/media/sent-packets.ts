import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findTool } from '#kinora/lib/find-tool.js';

export interface SentPacket {
  readonly dtsMs: number;
  readonly compositionMs: number;
  readonly isKey: boolean;
  /** MD5 of its bytes. */
  readonly digest: string;
}

interface ProbedPacket {
  readonly codec_type: 'video' | 'audio';
  readonly pts_time: string;
  readonly dts_time: string;
  readonly flags: string;
  readonly data_hash: string;
}

/** What an encoder that copies a file sends, in the order of decoding. */
export const readSentPackets = async (path: string): Promise<{ video: SentPacket[]; audio: SentPacket[] }> => {
  const fields = ['-show_entries', 'packet=codec_type,pts_time,dts_time,flags,data_hash'];
  const args = ['-v', 'error', ...fields, '-show_data_hash', 'md5', '-of', 'json', path];
  const { stdout } = await promisify(execFile)(findTool('ffprobe')!, args, { maxBuffer: 2 ** 28 });
  const { packets } = JSON.parse(stdout) as { packets: ProbedPacket[] };
  const of = (type: string): SentPacket[] =>
    packets
      .filter((packet) => packet.codec_type === type)
      .map((packet) => ({
        dtsMs: Number(packet.dts_time) * 1000,
        compositionMs: (Number(packet.pts_time) - Number(packet.dts_time)) * 1000,
        isKey: packet.flags.startsWith('K'),
        digest: packet.data_hash.replace('MD5:', ''),
      }));
  return { video: of('video'), audio: of('audio') };
};
