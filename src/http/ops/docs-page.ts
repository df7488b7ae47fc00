import type { DocumentedOperation, OpenApiDocument } from '../../api/openapi/openapi-document.js';

type Schema = Readonly<Record<string, unknown>>;
type Placed = { readonly method: string; readonly path: string; readonly operation: DocumentedOperation };

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Escaped text whose `code` is shown as such; paragraphs are divided by empty lines. */
const prose = (text: string): string => {
  const paragraphs = escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .split('\n\n');
  return paragraphs.map((paragraph) => `<p>${paragraph}</p>`).join('');
};
const inline = (text: string): string => prose(text).slice('<p>'.length, -'</p>'.length);

const anchor = (text: string): string => text.toLowerCase().replaceAll(' ', '-');

/** The description of the API as one page without scripts. `styles` becomes part of it unchanged. */
export const docsPage = (document: OpenApiDocument, styles: string): string => {
  const all: Placed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const ofTag = (name: string) => all.filter(({ operation }) => operation.tags.includes(name));

  const menu = document.tags.map(
    ({ name }) =>
      `<li><a href="#${anchor(name)}">${escapeHtml(name)}</a><ul>${ofTag(name).map(menuEntry).join('')}</ul></li>`,
  );
  const sections = document.tags.map(
    ({ name, description }) =>
      `<section><h2 id="${anchor(name)}">${escapeHtml(name)}</h2>${prose(description)}${ofTag(name).map(operationHtml).join('')}</section>`,
  );
  const resources = Object.entries(document.components.schemas).map(
    ([name, schema]) => `<article id="schema-${name}"><h3>${name}</h3>${fieldsHtml(schema)}</article>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} API</title>
<style>${styles}</style>
</head>
<body>
<nav aria-label="Operations">
<a class="home" href="#top">${document.info.title} API</a>
<ul>${menu.join('')}<li><a href="#resources">Resources</a></li></ul>
</nav>
<main id="top">
<header><h1>${document.info.title} API</h1>${prose(document.info.description)}
<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p></header>
${sections.join('\n')}
<section><h2 id="resources">Resources</h2><p>What answers are made of.</p>${resources.join('')}</section>
</main>
</body>
</html>
`;
};

const badge = (method: string): string => `<span class="method ${method.toLowerCase()}">${method}</span>`;

const menuEntry = ({ method, operation }: Placed): string =>
  `<li><a href="#${operation.operationId}">${badge(method)}<span${operation.deprecated ? ' class="old"' : ''}>${escapeHtml(operation.summary)}</span></a></li>`;

const operationHtml = ({ method, path, operation }: Placed): string => {
  const { operationId, summary, description = '', deprecated, parameters = [], requestBody } = operation;
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const body = requestBody?.content['application/json'];
  return `<article id="${operationId}">
<h3>${escapeHtml(summary)}${deprecated ? ' <span class="note">deprecated</span>' : ''}</h3>
<p class="route">${badge(method)}<code>${escapeHtml(path).replace(/\{(\w+)\}/g, '<b>{$1}</b>')}</code></p>
${prose(description)}
${query.length > 0 ? `<h4>Query</h4>${fieldTable(query.map(({ name, schema }) => fieldRow(name, schema, false)))}` : ''}
${body ? `<h4>Body</h4>${fieldsHtml(body.schema)}` : ''}
${body?.example ? `<h4>Example</h4><pre>${escapeHtml(curl(method, path, body.example))}</pre>` : ''}
<h4>Answers</h4>${answersHtml(operation)}
</article>`;
};

const curl = (method: string, path: string, example: object): string =>
  [
    `curl ${method === 'POST' ? '' : `-X ${method} `}https://kinora.example.org${path} \\`,
    `  -u "$TOKEN_ID:$TOKEN_SECRET" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(example, undefined, 2).replaceAll('\n', '\n  ')}'`,
  ].join('\n');

const answersHtml = ({ responses }: DocumentedOperation): string => {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const failures = Object.keys(responses).filter((status) => !status.startsWith('2'));
  const rows = successes.map(([status, response]) => {
    const content = response.content as { 'application/json': { schema: Schema } } | undefined;
    const fields = content ? fieldsHtml(content['application/json'].schema) : '<p>Without a body.</p>';
    return `<p class="status"><span class="note good">${status}</span></p>${fields}`;
  });
  const notes = failures.map((status) => `<span class="note bad">${status}</span>`).join(' ');
  return `${rows.join('')}<p class="status">Failures ${notes}</p>`;
};

const fieldsHtml = (schema: Schema): string => {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  if (properties.length === 0) return `<p>${typeHtml(schema)}</p>`;
  const required = (schema.required ?? []) as readonly string[];
  return fieldTable(properties.map(([name, property]) => fieldRow(name, property, required.includes(name))));
};

const fieldTable = (rows: readonly string[]): string => `<table><tbody>${rows.join('')}</tbody></table>`;

const fieldRow = (name: string, schema: Schema, isRequired: boolean): string => {
  const notes = [
    isRequired && '<span class="note">required</span>',
    schema.deprecated === true && '<span class="note">deprecated</span>',
  ];
  const inner = innerObject(schema);
  return `<tr><th scope="row"><code>${escapeHtml(name)}</code></th><td>
<p>${[typeHtml(schema), ...notes].filter(Boolean).join(' ')}</p>
${typeof schema.description === 'string' ? `<p>${inline(schema.description)}</p>` : ''}${limitsHtml(schema)}
${inner ? `<details><summary>Fields</summary>${fieldsHtml(inner)}</details>` : ''}</td></tr>`;
};

/** The object whose fields are worth showing: the value itself, or what its list holds. */
const innerObject = (schema: Schema): Schema | undefined => {
  if (schema.properties) return schema;
  const [first] = (schema.anyOf ?? []) as Schema[];
  const next = (schema.items as Schema | undefined) ?? first;
  return next && innerObject(next);
};

const typeHtml = (schema: Schema): string => {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1)!;
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(schema.enum))
    return schema.enum.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(' ');
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map((one: Schema) => typeHtml(one)).join(' or ');
  if (schema.type === 'array') return `list of ${typeHtml(schema.items as Schema)}`;
  if (schema.type === 'object' && !schema.properties) return 'object';
  return `<span class="type">${escapeHtml(String(schema.type ?? 'any'))}</span>`;
};

const limitsHtml = (schema: Schema): string => {
  const { default: preset, minimum, maximum, maxLength, maxItems } = schema;
  const limits = [
    preset !== undefined && `default <code>${escapeHtml(JSON.stringify(preset))}</code>`,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems} entries`,
  ].filter(Boolean);
  return limits.length > 0 ? `<p class="limits">${limits.join(', ')}</p>` : '';
};
