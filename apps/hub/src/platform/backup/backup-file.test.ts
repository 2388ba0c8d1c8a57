import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { completeBackupFile, writeBackupFile } from './backup-file.ts'

it('does not complete a draft that was deleted during its trial', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-draft-'))
  try {
    const header = {
      createdAt: new Date().toISOString(),
      release: '0.1.0',
      migrations: [],
      isVerified: true,
      hasBlobs: false,
      hasKey: false,
      keyMark: null,
      databaseBytes: 0,
    }
    const draft = await writeBackupFile(join(folder, 'draft'), header, (async function* () {})())
    await rm(draft.path)
    await expect(completeBackupFile(draft)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await readdir(folder)).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
