import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { addDoctorCommand } from './doctor.ts'
import { runHere } from './testing/run-here.ts'

it('O10: distinguishes databases in use from databases whose data folder is gone', async () => {
  const root = await mkdtemp(join(tmpdir(), 'muster-doctor-'))
  const place = join(root, 'lib')
  const run = (...words: string[]) =>
    runHere(
      ['doctor', ...words],
      {},
      { commands: [(program, line) => addDoctorCommand(program, line, place)] },
    )
  try {
    expect(await run()).toEqual({ code: 0, out: 'No orphaned database was found.\n', err: '' })

    const database = async (name: string, dataDir: string | undefined): Promise<string> => {
      const folder = join(place, name)
      await mkdir(join(folder, '18/data'), { recursive: true })
      await writeFile(join(folder, '18/socket'), '')
      if (dataDir !== undefined) await writeFile(join(folder, 'owner'), `${dataDir}/postgres/elsewhere\n`)
      return folder
    }
    const dataDir = join(root, 'data')
    const used = await database('used', dataDir)
    await mkdir(join(dataDir, 'postgres'), { recursive: true })
    await writeFile(join(dataDir, 'postgres/elsewhere'), `${used}\n`)
    const today = new Date().toISOString().slice(0, 10)
    expect(await run()).toEqual({
      code: 0,
      out: `${used}: in use by the data folder ${dataDir}, last started ${today}\nNo orphaned database was found.\n`,
      err: '',
    })

    const gone = await database('gone', join(root, 'deleted'))
    // The data folder exists but refers to another database.
    const replaced = await database('replaced', dataDir)
    const unnoted = await database('unnoted', undefined)
    const { code, out: printed } = await run()
    expect(code).toBe(1)
    for (const folder of [gone, replaced, unnoted]) {
      expect(printed).toContain(`${folder}: ORPHANED: `)
      expect(printed).toContain(`  sudo rm -r ${folder}\n`)
    }
    expect(printed).not.toContain(`sudo rm -r ${used}`)
    expect(await run('--fix')).toMatchObject({
      code: 2,
      err: "unknown option '--fix'. See muster-hub doctor --help\n",
    })
  } finally {
    await rm(root, { recursive: true })
  }
})
