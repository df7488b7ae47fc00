export interface WhisperModelOptions {
  readonly words?: readonly string[];
  readonly language?: 'en' | 'zh' | 'de' | 'es' | 'ru' | 'ko' | 'fr';
  readonly state?: number;
  readonly layers?: number;
  readonly seconds?: number;
}
export const writeWhisperModel: (path: string, options?: WhisperModelOptions) => void;
