// Writes docs/configuration.md and .env.example from the table of options, and docs/commands.md
// from that of commands. With --check it writes nothing and fails if they differ, if the tree in
// docs/architecture.md does not match the folders, or if docs/compatibility.md or the OpenAPI
// document lacks an operation.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { joinApiParts } from '../dist/api/openapi/api-part.js';
import { coreApi } from '../dist/api/openapi/core-api.js';
import { undocumented } from '../dist/api/openapi/openapi-document.js';
import { audienceApi } from '../dist/audience/api/audience-api.js';
import { commandGroups } from '../dist/cli/commands.js';
import { apiSettings } from '../dist/cli/support/command.js';
import { flagOf, options } from '../dist/config/options.js';
import { robotsApi } from '../dist/robots/api/robots-api.js';

const api = joinApiParts(coreApi, robotsApi, audienceApi);
const root = fileURLToPath(new URL('..', import.meta.url));
const all = Object.values(options);
const sections = [...new Set(all.map((option) => option.section))].map((section) => ({
  section,
  members: all.filter((option) => option.section === section),
}));
const defaultOf = (option) => (option.default ? `\`${option.default}\`` : (option.computed?.doc ?? '-'));

const configuration = () => {
  const tables = sections.map(({ section, members }) => {
    const rows = members.map((option) => {
      const doc = `${option.doc}${option.secret ? ' Secret: never logged.' : ''}`;
      return `| \`${option.variable}\` | \`${flagOf(option.variable)}\` | ${option.kind.form} | ${defaultOf(option)} | ${doc} |`;
    });
    return [
      `## ${section}`,
      '',
      '| Variable | Flag | Form | Default | Meaning |',
      '|---|---|---|---|---|',
      ...rows,
    ].join('\n');
  });
  return `# Configuration

<!-- Written by \`npm run generate\` from src/config/options.ts; edit that table instead. -->

Set an option with an environment variable, a flag, or a line in an optional \`.env\` file in the working
directory. Flags override environment variables, which override the file. An empty value counts as not
set. The server refuses to start with an unknown \`KINORA_\` variable or flag and suggests the nearest
known one.

${tables.join('\n\n')}
`;
};

const exampleEnv = () => {
  const parts = sections.map(({ section, members }) => {
    const lines = members.map(
      (option) => `# ${option.doc.replaceAll('`', '')}\n#${option.variable}=${option.default ?? ''}`,
    );
    return `# ${section}\n\n${lines.join('\n\n')}`;
  });
  return `# Written by \`npm run generate\` from src/config/options.ts. Copy to .env and uncomment what you set.\n\n${parts.join('\n\n')}\n`;
};

const flagRow = (form, flag) => {
  const doc =
    typeof flag === 'string' ? flag : `${flag.choices.map((choice) => `\`${choice}\``).join(', ')}: ${flag.doc}`;
  return `| \`${form}\` | ${doc} |`;
};

const settingsOf = ({ settings }) => {
  if (settings.length === 0) return [];
  if (settings.length === all.length) return ['Also every option in [configuration.md](configuration.md).'];
  if (apiSettings.every((setting) => settings.includes(setting)))
    return ['Also the [flags of the server](#the-server).'];
  const flags = settings.map((setting) => `\`${flagOf(options[setting].variable)}\``);
  return [`Also ${flags.join(', ')}, as in [configuration.md](configuration.md).`];
};

const commandSection = ([words, command]) => {
  const flags = Object.entries(command.flags ?? {});
  return [
    `### kinora ${[words, ...command.args].join(' ').replaceAll('<', '\\<')}`,
    `${command.summary[0].toUpperCase()}${command.summary.slice(1)}.`,
    ...(flags.length > 0
      ? [['| Flag | Meaning |', '|---|---|', ...flags.map((flag) => flagRow(...flag))].join('\n')]
      : []),
    ...settingsOf(command),
    ['```sh', ...command.examples, '```'].join('\n'),
  ].join('\n\n');
};

const commandPage = () => `# Commands

<!-- Written by \`npm run generate\` from src/cli/commands.ts; edit that table instead. -->

\`kinora\` is \`npx kinora\` in the directory of a clone, and \`docker exec kinora kinora\` for a container of that name.
\`kinora --help\` lists the commands, and \`kinora <command> --help\` the flags and examples of one. Results go to
standard output, everything else to standard error; with \`--json\` the results are JSON. On a terminal, progress is a
bar; elsewhere it is lines.

The exit status is 0 after success, 1 after a failure, 2 for a wrong command line or option, and 75 when another process
uses the data directory.

Tab completes commands, flags and names of files in bash, zsh and fish; see [kinora completion](#kinora-completion-shell).

## The server

Commands for videos and events call the API of the server at \`--host\` and \`--port\`, or at \`--public-url\`, with the
access token of the first start in \`--data-dir\` or the one in \`--token\`. Other commands reach the running server through a socket
in the data directory, or use the database themselves when no server runs. Each of these flags is also a variable or a
line in \`.env\`, such as \`KINORA_PORT\`.

${commandGroups
  .map(({ title, members }) =>
    [`## ${title === 'Server' ? 'Operation' : title}`, ...Object.entries(members).map(commandSection)].join('\n\n'),
  )
  .join('\n\n')}
`;

/**
 * Folders named in the tree of docs/architecture.md, as paths: two spaces of indent a level, names
 * end with a slash.
 */
const documentedFolders = () => {
  const tree = /```tree\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))?.[1] ?? '';
  const parents = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent, name] = /^( *)(\S+)\/(?: |$)/.exec(line) ?? [];
    if (name === undefined) return [];
    parents.length = indent.length / 2;
    parents.push(name);
    return [parents.join('/')];
  });
};

const trackedFolders = () => {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const folders = files.split('\n').flatMap((path) => {
    const parts = path.split('/').slice(0, -1);
    return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  });
  return [...new Set(folders)];
};

/** Breaks a paragraph at 100 columns. Code and links stay in one line. */
const wrapParagraph = (paragraph) => {
  const words = paragraph.match(/(`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/g);
  let width = words[0].length;
  return words.reduce((text, word) => {
    const fits = width + 1 + word.length <= 100;
    width = fits ? width + 1 + word.length : word.length;
    return `${text}${fits ? ' ' : '\n'}${word}`;
  });
};

const wrapped = (text) =>
  text
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? part : part.replace(/^(?![|#<\s]).+(\n(?![|#<\s]).+)*/gm, wrapParagraph)))
    .join('');

const generated = {
  'docs/configuration.md': wrapped(configuration()),
  '.env.example': exampleEnv(),
  'docs/commands.md': wrapped(commandPage()),
};

if (process.argv.includes('--check')) {
  const problems = [];
  for (const [path, text] of Object.entries(generated)) {
    if (readFileSync(join(root, path), 'utf8') !== text)
      problems.push(`${path} differs from the tables in src/: run npm run generate`);
  }
  const documented = documentedFolders();
  const tracked = trackedFolders();
  for (const path of tracked)
    if (!documented.includes(path)) problems.push(`docs/architecture.md: the tree lacks ${path}/`);
  for (const path of documented)
    if (!tracked.includes(path)) problems.push(`docs/architecture.md: the tree names ${path}/, which is not there`);
  const compatibility = readFileSync(join(root, 'docs/compatibility.md'), 'utf8');
  for (const { method, path } of Object.values(api.operations)) {
    if (!compatibility.includes(`\`${method} ${path}\``))
      problems.push(`docs/compatibility.md lacks ${method} ${path}`);
  }
  problems.push(...undocumented(api));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of Object.entries(generated)) writeFileSync(join(root, path), text);
}
