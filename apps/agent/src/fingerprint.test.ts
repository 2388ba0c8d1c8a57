import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fingerprintOf, fingerprintOfScript } from './fingerprint.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

// Test vectors of docs/protocol.md 6.4.
const VECTORS: [output: string, fingerprint: string][] = [
  ['abc', 'd_sk_6BQUZrqBEiScJvnefdnSDXDBrr6DfPSUiWNNS7wXu5R3'],
  ['', 'd_sk_bfHieWDWVpvKHqjSMpzD8y1DzfmUwhj3s5VoZMf8HJH9'],
  ['b08dfa6083e7567a1921a715000001fb\n', 'd_sk_eDQ4BQ7BWdoCddDqo5SNZPHLnKASePmqB3g9pN9UD257'],
  ['b08dfa6083e7567a1921a715000001fb', 'd_sk_xrvvU4RtUUnnNTEMfgjYL8HQRrBPLGY1hsE7DWGRx1w6'],
  ['10000000abcdef01\0', 'd_sk_p8PyT9T13upbz7c35D9aQaPDWH1XqrvKer6YzkdD4m2E'],
]

describe('fingerprintOf', () => {
  it.each(VECTORS)('gives the fingerprint of %j', (output, fingerprint) => {
    expect(fingerprintOf(Buffer.from(output))).toBe(fingerprint)
  })
})

describe('fingerprintOfScript', () => {
  async function run(script: string) {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'script')
    await writeFile(path, script, { mode: 0o755 })
    return await fingerprintOfScript(path)
  }

  it('hashes every byte of the output', async () => {
    expect(await run('#!/bin/sh\nprintf "10000000abcdef01\\000"\n')).toBe(VECTORS[4]![1])
    expect(await run('#!/bin/sh\necho b08dfa6083e7567a1921a715000001fb\n')).toBe(VECTORS[2]![1])
  })

  it('ignores the exit status', async () => {
    expect(await run('#!/bin/sh\nprintf abc\nexit 3\n')).toBe(VECTORS[0]![1])
  })

  it('gives an empty standard input to a script that reads', async () => {
    expect(await run('#!/bin/sh\ncat\nprintf abc\n')).toBe(VECTORS[0]![1])
  })

  it('refuses empty output, even from failing scripts', async () => {
    await expect(run('#!/bin/sh\nexit 0\n')).rejects.toThrow(/^fingerprint-script: found no output of/)
    await expect(run('#!/bin/sh\nexit 1\n')).rejects.toThrow(/found no output/)
  })

  it('D12: says that the lines of a script end with CRLF, or that its interpreter does not exist', async () => {
    await expect(run('#!/bin/sh\r\necho abc\r\n')).rejects.toThrow(
      /\(ENOENT: its lines end with CRLF, save it with LF\), expected/,
    )
    await expect(run('#!/bin/nothing -u\n')).rejects.toThrow(
      /\(ENOENT: its interpreter \/bin\/nothing -u does not exist\)/,
    )
  })

  it('names the program that could not be run', async () => {
    await expect(fingerprintOfScript('/nowhere/fp')).rejects.toThrow(
      'fingerprint-script: found /nowhere/fp (ENOENT), expected an executable whose output identifies the device',
    )
  })
})
