/** Types for the used part of the package, which has none. */
declare module 'sherpa-onnx-node' {
  class Vad {
    constructor(
      config: {
        sileroVad: {
          model: string;
          threshold: number;
          minSilenceDuration: number;
          minSpeechDuration: number;
          maxSpeechDuration: number;
          windowSize: number;
        };
        sampleRate: number;
        numThreads: number;
      },
      bufferSizeInSeconds: number,
    );
    acceptWaveform(samples: Float32Array): void;
    isEmpty(): boolean;
    isDetected(): boolean;
    front(enableExternalBuffer: boolean): { start: number; samples: Float32Array };
    pop(): void;
    flush(): void;
    reset(): void;
  }

  export type { Vad };

  const library: { readonly Vad: typeof Vad };
  export default library;
}
