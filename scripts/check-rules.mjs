// Rules of docs/architecture.md that a list of imports can't show. Reads the lines of every source file.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const filesOf = (folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => path.endsWith('.ts'));

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
    name: 'SQL only under db/',
    pattern:
      /\bsql`|\.(selectFrom|insertInto|updateTable|deleteFrom)\(|['"`]\s*(select\b.+\bfrom|insert into|update\b.+\bset|delete from)\b/i,
    allowed: /^src\/db\//,
  },
  {
    name: 'requests only under net/, and by the command line to its own server',
    pattern: /(?<![.\w])fetch\(/,
    allowed: /^src\/(net\/|cli\/)/,
  },
  { name: 'nothing left open', pattern: /\b(TODO|FIXME|XXX)\b/, allowed: /^$/ },
];
const testRule = {
  name: 'no test is skipped or alone',
  pattern: /\b(it|test|describe)\.(only|skip|todo)\(/,
  allowed: /^$/,
};

const problems = [];
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

for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
