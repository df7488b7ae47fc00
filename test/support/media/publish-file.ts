import { AVERROR_EOF } from 'node-av/constants';
import { Dictionary, FFmpegError, FormatContext, Packet } from 'node-av/lib';

const check = (code: number, operation: string): number => {
  FFmpegError.throwIfError(code, operation);
  return code;
};

/**
 * Publishes the packets of a file as they are, as fast as the server takes them, with a newer
 * FFmpeg than that of most systems: it speaks Enhanced RTMP. It runs in other threads, so that the
 * server may be in this process.
 */
export const publishFile = async (path: string, url: string): Promise<void> => {
  const input = new FormatContext();
  const output = new FormatContext();
  const packet = new Packet();
  packet.alloc();
  try {
    check(await input.openInput(path), 'open');
    check(await input.findStreamInfo(), 'probe');
    check(output.allocOutputContext2(null, 'flv', url), 'muxer');
    for (const source of input.streams) {
      const stream = output.newStream();
      check(source.codecpar.copy(stream.codecpar), 'parameters');
      stream.codecpar.codecTag = 0;
      stream.timeBase = source.timeBase;
    }
    check(await output.openOutput(), 'connect');
    const options = Dictionary.fromObject({ flvflags: 'no_duration_filesize' });
    check(await output.writeHeader(options), 'header');
    options.free();
    for (;;) {
      const code = await input.readFrame(packet);
      if (code === AVERROR_EOF) break;
      check(code, 'read');
      packet.rescaleTs(input.streams[packet.streamIndex]!.timeBase, output.streams[packet.streamIndex]!.timeBase);
      check(await output.interleavedWriteFrame(packet), 'write');
    }
    check(await output.writeTrailer(), 'trailer');
  } finally {
    packet.free();
    await output.closeOutput();
    output.freeContext();
    await input.closeInput();
  }
};
