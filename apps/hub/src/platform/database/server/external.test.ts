import { deviceRow, scratchDatabase, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { ConfigError } from '../../config/config-error.ts'
import { checkDirectDatabase, checkExternalDatabase, externalConnection } from './external.ts'

it('reads times correctly whatever the server’s time zone and date style and the options in its URL', async () => {
  await using database = await scratchDatabase('muster')
  const name = database.url.split('/').at(-1)!
  await database.query(`alter database ${name} set timezone = 'Asia/Kolkata'`)
  await database.query(`alter database ${name} set datestyle = 'German'`)
  // The `options` parameter in the URL sets a search path, as an operator does who keeps the hub's tables in a separate schema.
  await using hub = await testHub({ databaseUrl: `${database.url}?options=-c%20search_path%3Dpublic` })
  const { owner, projectId } = await hub.fleet()
  const firstSeen = new Date('2026-11-21T22:30:00.123Z')
  await deviceRow(hub, projectId, { firstSeen })
  await deviceRow(hub, projectId, { firstSeen })
  const first = await owner.invoke('projects_QueryDevices', { projectId, limit: 1 })
  const second = await owner.invoke('projects_QueryDevices', {
    projectId,
    limit: 1,
    cursor: first.nextCursor,
  })
  for (const { devices } of [first, second])
    expect(devices).toMatchObject([{ firstSeen: firstSeen.toISOString() }])
  expect(hub.pool.options.options).toContain('search_path=public')
})

it('refuses encodings other than UTF8 and tables of another user in one line', async () => {
  await using database = await scratchDatabase()
  const url = new URL(database.url)
  const name = `${url.pathname.slice(1)}_other`
  for (const encoding of ['LATIN1', 'SQL_ASCII']) {
    await database.query(`create database ${name} encoding '${encoding}' locale 'C' template template0`)
    url.pathname = name
    await expect(checkExternalDatabase(url.href)).rejects.toEqual(
      new ConfigError(
        `MUSTER_DATABASE_URL: found a database with the encoding ${encoding}, expected one with UTF8.`,
      ),
    )
    await database.query(`drop database ${name}`)
  }

  await database.query('create table migration ()')
  await database.query(`create role ${name} login password 'secret'`)
  await database.query(`grant all on schema public to ${name}`)
  await checkExternalDatabase(database.url)
  try {
    const visitor = new URL(database.url)
    visitor.username = name
    visitor.password = 'secret'
    await expect(checkExternalDatabase(visitor.href)).rejects.toEqual(
      new ConfigError(
        "MUSTER_DATABASE_URL: found a database whose tables are another user's, expected the user that owns them.",
      ),
    )
  } finally {
    await database.query(`drop owned by ${name}`)
    await database.query(`drop role ${name}`)
  }
})

it.each([
  ['sslrootcert=/nope.pem', 'sslrootcert="/nope.pem" (ENOENT)'],
  ['sslcert=/nope.pem', 'sslcert="/nope.pem" (ENOENT)'],
  [`sslkey=${import.meta.filename}`, `sslkey=${JSON.stringify(import.meta.filename)} (ERR_`],
])('O6: names a TLS file that cannot be used: %s', async (parameter, found) => {
  const checked = checkExternalDatabase(`postgresql://a:hunter2@127.0.0.1:1/x?${parameter}`)
  await expect(checked).rejects.toThrow(ConfigError)
  const { message } = await checked.catch(error => error)
  expect(message).toContain(`MUSTER_DATABASE_URL: found ${found}`)
  expect(message).toMatch(/, expected a file in PEM that this account may read\.$/)
})

it('O6: accepts known TLS modes without a warning and refuses unknown ones', async () => {
  const warnings: Error[] = []
  const collect = (warning: Error): void => void warnings.push(warning)
  process.on('warning', collect)
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full'])
    await expect(checkExternalDatabase(`postgresql://a:b@127.0.0.1:1/x?sslmode=${mode}`)).rejects.toThrow(
      'ECONNREFUSED',
    )
  await expect(checkExternalDatabase('postgresql://a:b@127.0.0.1:1/x?sslmode=requre')).rejects.toThrow(
    'MUSTER_DATABASE_URL: found sslmode="requre", expected one of disable, prefer, require, verify-ca, verify-full, no-verify.',
  )
  await new Promise(setImmediate)
  process.off('warning', collect)
  expect(warnings.filter(({ message }) => message.includes('SSL'))).toEqual([])
  const { connectionString } = externalConnection('postgresql://a:b@db/x?sslmode=require')
  expect(connectionString).toBe('postgresql://a:b@db/x?sslmode=verify-full')
})

it('accepts only the same database for messages between nodes', async () => {
  await using database = await scratchDatabase()
  await using other = await scratchDatabase()
  await checkDirectDatabase(database.url, database.url)
  await expect(checkDirectDatabase(database.url, other.url)).rejects.toEqual(
    new ConfigError(
      'MUSTER_DATABASE_DIRECT_URL: found another database than that of MUSTER_DATABASE_URL, expected the same one without a pooler.',
    ),
  )
  await expect(checkDirectDatabase(database.url, `${database.url}_absent`)).rejects.toThrow(
    /^MUSTER_DATABASE_DIRECT_URL: found a database that does not let the hub in \(database .* does not exist\), expected the database of MUSTER_DATABASE_URL\.$/,
  )
})
