import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import '@muster/hub/features'
import { unknownSettings } from '@muster/hub/config'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const filesLike = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .filter(file => existsSync(join(ROOT, file)))
const HAND_WRITTEN = filesLike('*.md')
const SOURCES = filesLike('*.ts', '*.tsx', '*.js', '*.mjs')

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Anchors that GitHub generates for a document's headings. */
function anchorsOf(path: string): string[] {
  return [...textOf(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .replace(/`|\[|\]\(.*?\)/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  )
}

it.each(HAND_WRITTEN)('S19: links of %s lead to existing files and headings', path => {
  for (const [, target] of textOf(path).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^(https?|mailto):/.test(target!)) continue
    const [file, anchor] = target!.split('#') as [string, string | undefined]
    const linked = file === '' ? path : join(dirname(path), file)
    expect(existsSync(join(ROOT, linked)), `${path}: ${target}`).toBe(true)
    if (anchor !== undefined && linked.endsWith('.md')) expect(anchorsOf(linked), target).toContain(anchor)
  }
})

it('S19: the security pages exist, name existing settings, and are linked from the README', () => {
  expect(textOf('README.md')).toContain('](SECURITY.md)')
  expect(textOf('README.md')).toContain('](docs/hardening.md)')
  expect(textOf('docs/operating.md')).toContain('](hardening.md)')
  // Vulnerabilities are reported through GitHub's form. An unread mail address would be worse than none.
  expect(textOf('SECURITY.md')).not.toMatch(/\w@\w/)
  const named = [...`${textOf('SECURITY.md')}${textOf('docs/hardening.md')}`.matchAll(/MUSTER_[A-Z0-9_]+/g)]
  expect(named.length).toBeGreaterThan(20)
  expect(unknownSettings(Object.fromEntries(named.map(([name]) => [name, ''])))).toEqual([])
})

it.each(filesLike('docs/*.md'))('files of the source that %s names exist', path => {
  const named = [...textOf(path).matchAll(/`([\w./-]+\.(?:ts|tsx|js|mjs))`/g)].map(([, file]) => file!)
  const missing = named.filter(
    file => !SOURCES.some(source => `/${source}`.endsWith(`/${file.replace(/^\.\//, '')}`)),
  )
  expect(missing).toEqual([])
})

it.each(filesLike('docs/*.md'))(
  'S24: titles of tests that %s quotes after a test file are in that file',
  path => {
    const missing: string[] = []
    for (const [, file, titles] of textOf(path).matchAll(/`([\w./-]+\.test\.ts)`((?:,? "[^"]+")+)/g)) {
      const calls = SOURCES.filter(source => `/${source}`.endsWith(`/${file}`))
        .map(source => textOf(source).replace(/\(\s+/g, '('))
        .join('')
      for (const [, title] of titles!.matchAll(/"([^"]+)"/g)) {
        if (!["'", '"', '`'].some(quote => calls.includes(`(${quote}${title}${quote}`)))
          missing.push(`${file}: ${title}`)
      }
    }
    expect(missing).toEqual([])
  },
)

it('S24: docs/asvs.md has each requirement of ASVS 5.0.0 of the levels 1 and 2, and lists those that are not met', () => {
  const text = textOf('docs/asvs.md')
  const answers = [...text.matchAll(/^\| (V[^|]+) \| [^|]+ \| (.+) \|$/gm)].flatMap(([, ids, answer]) =>
    ids!.split(', ').map(id => [id, answer!] as const),
  )
  // OWASP lists 70 requirements of level 1 and 183 of level 2.
  expect(new Set(answers.map(([id]) => id)).size).toBe(253)
  expect(answers).toHaveLength(253)
  const open = [...text.matchAll(/^\| (V[^|]+) \| [^|]+ \|$/gm)].flatMap(([, ids]) => ids!.split(', '))
  const unmet = answers.filter(([, answer]) => /^(Not met|In part)/.test(answer)).map(([id]) => id)
  expect(open.sort()).toEqual(unmet.sort())
})
