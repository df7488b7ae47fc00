const firstLetters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ ad: 'd', beacon: 'b', custom: 'c', env: 'a', event: 'e', experiment: 'f', mux: 'm', page: 'w' },
    ...{ player: 'p', session: 's', sub: 'y', video: 'v', view: 'x', viewer: 'u' },
  }),
);

/** Of the fields that Kinora reads. */
const words =
  'ad:ad af:affiliate ag:aggregate ap:api al:application ao:audio ar:architecture as:asset au:autoplay av:average ' +
  'bi:bitrate bn:brand bz:business cc:codec cd:code cg:category ci:client co:count cq:creator cs:captions ' +
  'ct:content cv:cumulative cx:connection cz:context dg:downscaling dm:domain dn:cdn do:downscale dr:drm ' +
  'dp:dropped du:duration dv:device dy:dynamic eb:enabled ec:encoding ed:edge eg:engine em:embed er:error ' +
  'ez:exception fi:first fm:family fp:fps fr:frame fs:fullscreen ha:has hn:hostname ht:height id:id in:instance ' +
  'is:is ke:key la:language le:level li:live lo:load lt:latency ma:max me:message mi:mime mn:manufacturer ' +
  'mo:model mp:mode ms:ms nm:name no:number on:on or:origin os:os pb:playback pd:producer pe:percentage ' +
  'pf:played pg:program ph:playhead pi:plugin pl:preroll pn:playing po:poster pp:pip pr:preload ps:position ' +
  'px:pop pz:plan rd:requested re:rebuffer rf:rendition rg:range rm:remote rq:request se:session sh:shift sk:seek ' +
  'sm:stream so:source sq:sequence sr:series ss:status st:start su:startup sw:software sy:severity ta:tag ' +
  'th:throughput ti:time tl:total to:to tt:title ty:type ug:upscaling up:upscale ur:url us:user va:variant ' +
  've:version vi:video vr:viewer vw:view wa:watch wd:width mx:mux py:property';

const shortWords: ReadonlyMap<string, string> = new Map(
  words.split(' ').map((pair): [string, string] => [pair.slice(3), pair.slice(0, 2)]),
);

/**
 * How players shorten the name of a field such as `view_watch_time`: a letter for the first word,
 * two for each of the others. Numbers stay, other words are written in full. This is the format of
 * mux-embed; a test compares all names with what it sends.
 */
export const shortKey = (name: string): string => {
  const [first = '', ...others] = name.split('_');
  const shortOf = (word: string): string => shortWords.get(word) ?? (/^\d+$/.test(word) ? word : `_${word}_`);
  return `${firstLetters.get(first) ?? `${first}_`}${others.map(shortOf).join('')}`;
};
