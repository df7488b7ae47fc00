/** Keys of other services have up to 100 characters. */
const MAX_KEY_LENGTH = 255;
const STRUCTURED = '#!::';

export interface StreamId {
  readonly streamKey: string;
  /** The peer wants to send; otherwise it wants to receive. */
  readonly isPublisher: boolean;
}

/**
 * The stream key of a stream ID: the whole text, or the resource of the structured form
 * (`#!::r=<key>,m=publish`, SRT Access Control). Undefined when there is none.
 */
export const readStreamId = (text: string): StreamId | undefined => {
  const isStructured = text.startsWith(STRUCTURED);
  const fields = new Map(isStructured ? fieldsOf(text.slice(STRUCTURED.length)) : [['r', text]]);
  const streamKey = fields.get('r') ?? '';
  if (streamKey === '' || streamKey.length > MAX_KEY_LENGTH || text.startsWith('#!:{')) return undefined;
  return { streamKey, isPublisher: (fields.get('m') ?? 'publish') === 'publish' };
};

const fieldsOf = (text: string): [string, string][] =>
  text.split(',').flatMap((field): [string, string][] => {
    const at = field.indexOf('=');
    return at === -1 ? [] : [[field.slice(0, at), field.slice(at + 1)]];
  });
