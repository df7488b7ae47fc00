import type { WireAsset } from './create-asset.js';

export interface Sources {
  readonly url: string;
  stop(): Promise<void>;
}

export interface FilledAsset {
  readonly kind: string;
  readonly asset: WireAsset;
}

export const serveSources: (
  paths: Readonly<Record<'video.mp4' | 'audio.m4a' | 'silent.mp4', string>>,
) => Promise<Sources>;

export const fillSource: (
  server: { readonly url: string; readonly token: { readonly id: string; readonly secret: string } },
  files: string,
  options: { readonly count: number; readonly drmConfigurationId?: string },
) => Promise<FilledAsset[]>;
