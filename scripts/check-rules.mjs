// Rules of docs/architecture.md that a list of imports can't show. Reads the lines of every source
// file.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const filesOf = (folder, ending = /\.ts$/) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => ending.test(path));

const rules = [
  { name: 'process.env only under config/', pattern: /\bprocess\.env\b/, allowed: /^src\/config\// },
  {
    name: 'process.exit only under cli/ and in engine/main',
    pattern: /\bprocess\.exit\(/,
    allowed: /^src\/(cli\/|engine\/main\.ts)/,
  },
  { name: 'the wall clock only under lib/', pattern: /\bDate\.now\(|\bnew Date\(\)/, allowed: /^src\/lib\// },
  {
    name: 'randomness only under lib/',
    pattern: /\bMath\.random\(|\b(randomBytes|randomInt|randomUUID|getRandomValues)\b/,
    allowed: /^src\/lib\//,
  },
  {
    name: 'SQL only under db/, robots/tables/ and audience/tables/',
    pattern:
      /\bsql`|\.(selectFrom|insertInto|updateTable|deleteFrom)\(|['"`]\s*(select\b.+\bfrom|insert into|update\b.+\bset|delete from)\b/i,
    allowed: /^src\/(db|(robots|audience)\/tables)\//,
  },
  {
    name: 'requests only under net/, and by the command line to its own server',
    pattern: /(?<![.\w])fetch\(/,
    allowed: /^src\/(net\/|cli\/)/,
  },
  {
    name: 'createLinkedAbort instead of AbortSignal.any, which Node.js 20 does not free',
    pattern: /\bAbortSignal\.any\(/,
    allowed: /^$/,
  },
  {
    // The log of `kinora logs` has colors, and is made safe before it gets them.
    name: 'output of commands goes through cli/support/print, which removes what steers terminals',
    pattern: /\bprocess\.std(out|err)\.write\(/,
    allowed: /^src\/cli\/(support\/(print|progress)|commands\/operations|main)\.ts/,
  },
  { name: 'nothing left open', pattern: /\b(TODO|FIXME|XXX)\b/, allowed: /^$/ },
];
const testRule = {
  name: 'no test is skipped or alone',
  pattern: /\b(it|test|describe)\.(only|skip|todo)\(/,
  allowed: /^$/,
};

const testFile = /^(test|bench)\/|\.test\.ts$/;
/** A declaration of one of these names. */
const declared = (names) =>
  new RegExp(`\\b(const|let|function|class|interface|type|readonly|private|get) (${names})\\b`);
/** Words that are not used in names, and the word that is. */
const words = [
  { word: /straighten/i, instead: 'repair timestamps' },
  { word: /within-?limit/i, instead: 'with timeout' },
  { word: /recent-?memory/i, instead: 'TTL cache' },
  { word: /crash-?memory/i, instead: 'crash quarantine' },
  { word: /database-?away/i, instead: 'database unavailable' },
  { word: /colour/i, instead: 'color' },
  { word: /zero-?ticks/i, instead: 'origin ticks' },
  { word: /further-?audio/i, instead: 'alternate audio' },
  { word: /Further/, instead: 'additional or alternate' },
  { word: /(?<![a-z])late(Keys|Access|Work)/, instead: 'deferred or post-ready' },
  { word: /shown(Ms|Seconds|Size|Settings)|[a-z]?Shown[A-Z]/, instead: 'displayed or public' },
  { word: /rate-?factor/i, instead: 'bitrate scale' },
  { word: /(?<!in[-_]?|pre)flight/i, instead: 'in-flight request' },
  { word: /join(ed)?-?recordings/i, instead: 'concatenated recordings' },
  { word: /turn-?(pixels|size)/i, instead: 'rotate' },
  { word: /salient/i, instead: 'smart crop' },
  { word: /\bmend(s|ed|ing)?\b|[a-z]Mend/, instead: 'fix or repair' },
  { word: /sound/i, instead: 'audio' },
  {
    word: declared('kept|made|given|found|wanted|known|works|lend|lent|giveBack|patience|led'),
    instead: 'the thing that it holds, or acquire, release, timeout, leader',
    allowed: testFile,
  },
  {
    word: declared('\\w*[eE]lsewhere|recordWay|onDoubt|doubt|bring|begun|goesOn|letGo|isBehind|judge\\w*|refuse\\w*'),
    instead: 'the standard term: remote, mismatch, fetch, started, release, evaluate, reject',
    allowed: testFile,
  },
  // Models answer questions.
  {
    word: declared('\\w*[aA]nswer\\w*'),
    instead: 'response',
    allowed: /^(test\/|src\/robots\/|src\/net\/chat-)|\.test\.ts$/,
  },
  // FFmpeg's names of picture types, the words of H.264 for its IDR pictures and picture parameter
  // sets, and the browsers' picture-in-picture.
  {
    word: /(?<!AV_|AV|Idr)picture(?!InPicture)(?<!pictureInPicture)/i,
    instead: 'frame, image or video',
    allowed: /^src\/media\/mp4\/avc-slice-header\.ts$/,
  },
];
/** They name old keys of stored rows, and the words themselves. A prompt is no name. */
const withOldWords = /^(test\/contract\/field-words\.test\.ts|scripts\/check-rules\.mjs|src\/robots\/prompts\/.*)$/;
const withoutText = (line) =>
  line
    .replace(/\/\/.*/, '')
    .replace(/'(\\.|[^'\\])*'|"(\\.|[^"\\])*"|\/(\\.|[^/\\])+\/[a-z]*(?=[,.)\]])/g, '')
    .replace(/`[^`$]*`|`[^`$]*(?=\$\{)|(?<=\})[^`$]*`/g, '');

const problems = [];
const code = /\.(tsx?|mts|mjs|js)$/;
for (const path of ['src', 'console', 'player', 'test', 'bench', 'scripts'].flatMap((folder) =>
  filesOf(folder, code),
)) {
  if (withOldWords.test(path)) continue;
  const lines = readFileSync(join(root, path), 'utf8').split('\n');
  const names = lines.map((line) => (/^\s*(\/\/|\/?\*)/.test(line) ? '' : withoutText(line)));
  for (const { word, instead, allowed } of words) {
    if (allowed?.test(path)) continue;
    if (word.test(path)) problems.push(`${path}: the file name should say ${instead}`);
    for (const [index, text] of names.entries()) {
      if (word.test(text))
        problems.push(`${path}:${index + 1}: the name should say ${instead}: ${lines[index].trim()}`);
    }
  }
}
/** Comments and documents have at most 100 columns, except tables and code alone in its line. */
const isTooWide = (line) => {
  const text = line.trim().replace(/^([-*>]|\/\/|\/?\*+)\s+/, '');
  return line.length > 100 && !text.startsWith('|') && /\s/.test(text.replace(/`[^`]*`/g, 'code'));
};
for (const path of ['src', 'console', 'player', 'test', 'bench', 'scripts'].flatMap((folder) =>
  filesOf(folder, code),
)) {
  for (const [index, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    if (/^\s*(\/\/|\/?\*)/.test(line) && !/biome-ignore/.test(line) && isTooWide(line))
      problems.push(`${path}:${index + 1}: comments have at most 100 columns`);
  }
}
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'deploy', 'examples', 'test'].flatMap((folder) => filesOf(folder, /\.md$/)),
];
for (const path of documents) {
  let isCode = false;
  for (const [index, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    // Tables have a line for each row, and headings and HTML can't be broken.
    if (!isCode && !/^\s*([#<]|!?\[[^\]]+\](:|\([^)]*\)$))|^ {4}\S/.test(line) && isTooWide(line))
      problems.push(`${path}:${index + 1}: documents have at most 100 columns`);
  }
}
for (const path of filesOf('console', /\.tsx?$/)) {
  if (!/(^|\/)[a-z0-9]+(-[a-z0-9]+)*(\.test|\.config)?\.tsx?$/.test(path))
    problems.push(`${path}: file names are kebab-case`);
}
for (const path of [...filesOf('src'), ...filesOf('test')]) {
  if (!/(^|\/)[a-z0-9]+(-[a-z0-9]+)*(\.test|\.d)?\.ts$/.test(path)) problems.push(`${path}: file names are kebab-case`);
  const isTest = path.startsWith('test/') || path.endsWith('.test.ts');
  const lines = readFileSync(join(root, path), 'utf8').split('\n');
  for (const [index, line] of lines.entries()) {
    const isComment = /^\s*(\/\/|\/?\*)/.test(line);
    for (const rule of isTest ? [testRule] : rules) {
      if (!isComment && rule.pattern.test(line) && !rule.allowed.test(path)) {
        problems.push(`${path}:${index + 1}: ${rule.name}: ${line.trim()}`);
      }
    }
  }
}

for (const [index, path] of filesOf('docs/decisions', /\/\d{4}-[a-z0-9-]+\.md$/)
  .sort()
  .entries()) {
  const heading = readFileSync(join(root, path), 'utf8').split('\n', 1)[0];
  const number = index + 1;
  if (
    !path.endsWith(path.replace(/\d{4}-/, `${String(number).padStart(4, '0')}-`)) ||
    !heading.startsWith(`# ${number}. `)
  )
    problems.push(`${path}: decisions are numbered without holes; this one should be ${number} in name and heading`);
}

// Who needs a helper finds it in the index, and writes no second one.
const indexed = readFileSync(join(root, 'test/README.md'), 'utf8').split('\n### ').slice(1);
const named = indexed.flatMap((section) => {
  const folder = /^\| In `(\w+\/)`/m.exec(section)?.[1] ?? '';
  return [...section.matchAll(/^\| `([\w.-]+)` \|/gm)].map(([, name]) => `test/support/${folder}${name}`);
});
const helpers = filesOf('test/support', /./);
for (const path of helpers.filter((path) => !named.includes(path)))
  problems.push(`${path}: test/README.md has no line for this helper`);
for (const [index, path] of named.entries())
  if (!helpers.includes(path) || named.indexOf(path) !== index)
    problems.push(
      `test/README.md: names ${path}, which ${helpers.includes(path) ? 'it names twice' : 'does not exist'}`,
    );

for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
