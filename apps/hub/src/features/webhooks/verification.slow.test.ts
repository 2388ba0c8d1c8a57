import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newSigningSecret, signedHeaders } from './signature.ts'

// Runs the examples of docs/webhooks.md that check signatures, with what the hub sends.

const DOCUMENT = join(import.meta.dirname, '../../../../../docs/webhooks.md')

/** Program, file and code that calls the example of a language with the JSON on standard input. It prints `true` or `false`. */
const LANGUAGES = {
  ts: {
    program: process.execPath,
    args: ['verify.ts'],
    code: (example: string) => `${example}
      import { readFileSync } from 'node:fs'
      const { secret, headers, body } = JSON.parse(readFileSync(0, 'utf8'))
      console.log(verify(secret, headers, body))`,
  },
  python: {
    program: 'python3',
    args: ['verify.python'],
    code: (example: string) => `${example}
import json, sys
given = json.load(sys.stdin)
print(str(verify(given["secret"], given["headers"], given["body"].encode())).lower())`,
  },
  go: {
    program: 'go',
    args: ['run', 'verify.go'],
    code: (example: string) =>
      `${example.replace('import (', 'import (\n\t"encoding/json"\n\t"fmt"\n\t"os"')}
func main() {
	var given struct{ Secret, Body string; Headers map[string]string }
	json.NewDecoder(os.Stdin).Decode(&given)
	fmt.Println(verify(given.Secret, given.Headers, []byte(given.Body)))
}`,
  },
}

let folder: string
let document: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-verify-'))
  document = await readFile(DOCUMENT, 'utf8')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const hasProgram = (program: string): boolean => {
  const { error } = spawnSync(program, ['--help'], { stdio: 'ignore' })
  return (error as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT'
}

for (const [language, { program, args, code }] of Object.entries(LANGUAGES))
  it.runIf(hasProgram(program))(
    `the example in ${language} accepts what the hub signs, and nothing else`,
    async () => {
      const [, example] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(document)!
      await writeFile(join(folder, `verify.${language}`), code(example!))
      const body = JSON.stringify({ type: 'a.B', data: { text: 'ü ✓' } })
      const [secret, former] = [newSigningSecret(), newSigningSecret()]
      const headers = signedHeaders([secret, former], 'msg_1', new Date(), body)
      const old = signedHeaders([secret], 'msg_1', new Date(Date.now() - 400_000), body)
      const results = [
        { secret, headers, body },
        { secret: former, headers, body },
        { secret: newSigningSecret(), headers, body },
        { secret, headers, body: `${body} ` },
        { secret, headers: { ...headers, 'webhook-id': 'msg_2' }, body },
        { secret, headers: old, body },
      ].map(given => {
        const { stdout, stderr } = spawnSync(program, args, {
          cwd: folder,
          input: JSON.stringify(given),
          encoding: 'utf8',
        })
        return stdout.trim() || stderr
      })
      expect(results).toEqual(['true', 'true', 'false', 'false', 'false', 'false'])
    },
    180_000,
  )
