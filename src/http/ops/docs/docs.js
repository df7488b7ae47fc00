// Extends Swagger UI: search over everything that an operation says, code samples with a copy
// button, the theme of the browser, and markup that screen readers understand.
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const applyTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', applyTheme);
  applyTheme();

  const COPIED_MS = 2000;
  /** The language that the reader chose last, for the operations opened later. */
  let chosen = 0;

  /** Browsers offer the clipboard only to HTTPS pages and localhost. */
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const field = document.createElement('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  };

  /** Keeps the operations whose path, summary or description contains every word. */
  const searchOperations = (groups, phrase) => {
    const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
    const textOf = (entry) =>
      [['path'], ['operation', 'summary'], ['operation', 'description']]
        .map((path) => String(entry.getIn(path) ?? '').toLowerCase())
        .join(' ');
    const isFound = (entry) => words.every((word) => textOf(entry).includes(word));
    return groups
      .map((group) => group.set('operations', group.get('operations').filter(isFound)))
      .filter((group) => group.get('operations').size > 0);
  };

  window.kinoraDocs = ({ React }) => {
    const { createElement: h, Fragment, useEffect, useState } = React;

    const CopyButton = ({ text }) => {
      const [isCopied, setCopied] = useState(false);
      useEffect(() => {
        if (!isCopied) return undefined;
        const timer = setTimeout(() => setCopied(false), COPIED_MS);
        return () => clearTimeout(timer);
      }, [isCopied]);
      const onClick = () => copy(text).then(() => setCopied(true));
      return h(
        'button',
        { type: 'button', className: 'samples-copy', onClick },
        h('span', { 'aria-live': 'polite' }, isCopied ? 'Copied' : 'Copy'),
      );
    };

    const Samples = ({ samples }) => {
      const [index, setIndex] = useState(chosen);
      const select = (next) => {
        chosen = next;
        setIndex(next);
      };
      const sample = samples[index] ?? samples[0];
      return h(
        'section',
        { className: 'samples', 'aria-label': 'Code samples' },
        h('div', { className: 'opblock-section-header' }, h('h4', null, 'Code samples')),
        h(
          'div',
          { className: 'samples-bar' },
          samples.map(({ label }, position) =>
            h(
              'button',
              {
                key: label,
                type: 'button',
                className: 'samples-language',
                'aria-pressed': samples[position] === sample,
                onClick: () => select(position),
              },
              label,
            ),
          ),
          h(CopyButton, { text: sample.source, key: sample.label }),
        ),
        h('pre', { tabIndex: 0, 'aria-label': `${sample.label} sample` }, h('code', null, sample.source)),
      );
    };

    return {
      fn: { opsFilter: searchOperations },
      wrapComponents: {
        BaseLayout: (Layout) => (props) => h('main', null, h(Layout, props)),
        // One server: the one that sent this page.
        ServersContainer: () => () => null,
        // A link inside of a button is no valid markup.
        DeepLink:
          () =>
          ({ text }) =>
            h('span', { className: 'nostyle' }, text),
        operations: (Operations) => (props) =>
          h(Fragment, null, h('h2', { className: 'for-screen-readers' }, 'Operations'), h(Operations, props)),
        // Its heading is two levels below the one before.
        Models: (Models) => (props) =>
          h(Fragment, null, h('h3', { className: 'for-screen-readers' }, 'Parts of requests'), h(Models, props)),
        FilterContainer:
          () =>
          ({ layoutSelectors, layoutActions }) => {
            const filter = layoutSelectors.currentFilter();
            return h(
              'div',
              { className: 'filter wrapper', role: 'search' },
              h('input', {
                className: 'operation-filter-input',
                type: 'search',
                'aria-label': 'Search operations',
                placeholder: 'Search operations',
                value: typeof filter === 'string' ? filter : '',
                onChange: ({ target }) => layoutActions.updateFilter(target.value),
              }),
            );
          },
        responses: (Responses) => (props) => {
          const samples = props.specSelectors
            .specJson()
            .getIn(['paths', props.path, props.method, 'x-codeSamples'])
            ?.toJS();
          return h(Fragment, null, samples && h(Samples, { samples }), h(Responses, props));
        },
      },
    };
  };
})();
