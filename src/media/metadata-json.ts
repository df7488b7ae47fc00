/** One element of `metadata.json`; chapters would follow as further elements. */
export interface MetadataElement {
  readonly metadata: readonly { readonly key: string; readonly value: string }[];
  readonly titles: readonly { readonly language: string; readonly title: string }[];
  readonly 'start-time'?: number;
  readonly duration?: number;
}

/** What players read beside the playlist: the title of the asset, or an element without content. */
export const metadataJson = (title: string | undefined, durationSeconds: number): MetadataElement[] =>
  title === undefined
    ? [{ metadata: [], titles: [] }]
    : [
        {
          metadata: [{ key: 'title', value: title }],
          titles: [{ language: 'und', title }],
          'start-time': 0,
          duration: durationSeconds,
        },
      ];
