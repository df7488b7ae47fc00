import { escapeHtml } from '../../lib/escape-html.js';
import type { EmbedSize, EmbedThumbnail } from './embed.js';
import { withQuery } from './page-query.js';

export interface Card {
  readonly title: string;
  readonly origin: string;
  /** The absolute URL of the page. */
  readonly url: string;
  readonly size: EmbedSize;
  readonly thumbnail: EmbedThumbnail | undefined;
}

/**
 * What other sites read to show a link to the page: Open Graph, Twitter player card, oEmbed
 * discovery.
 */
export const cardTags = ({ title, origin, url, size, thumbnail }: Card): string => {
  const isSecure = url.startsWith('https:');
  const properties: readonly (readonly [string, string | number | undefined])[] = [
    ['og:type', 'video.other'],
    ['og:site_name', 'Kinora'],
    ['og:title', title],
    ['og:url', url],
    ['og:image', thumbnail?.url],
    ['og:image:width', thumbnail?.width],
    ['og:image:height', thumbnail?.height],
    ['og:image:alt', thumbnail && title],
    ['og:video', url],
    ['og:video:secure_url', isSecure ? url : undefined],
    ['og:video:type', 'text/html'],
    ['og:video:width', size.width],
    ['og:video:height', size.height],
  ];
  const names: readonly (readonly [string, string | number | undefined])[] = [
    ['twitter:card', 'player'],
    ['twitter:title', title],
    ['twitter:image', thumbnail?.url],
    ['twitter:image:alt', thumbnail && title],
    ['twitter:player', url],
    ['twitter:player:width', size.width],
    ['twitter:player:height', size.height],
  ];
  const meta =
    (attribute: string) =>
    ([name, content]: readonly [string, string | number | undefined]): string[] =>
      content === undefined ? [] : [`<meta ${attribute}="${name}" content="${escapeHtml(String(content))}">`];
  const discovery = Object.entries({ json: 'application/json+oembed', xml: 'text/xml+oembed' }).map(
    ([format, type]) => {
      const address = escapeHtml(withQuery(`${origin}/oembed`, { url, format }));
      return `<link rel="alternate" type="${type}" href="${address}" title="${escapeHtml(title)}">`;
    },
  );
  return [...properties.flatMap(meta('property')), ...names.flatMap(meta('name')), ...discovery].join('\n    ');
};
