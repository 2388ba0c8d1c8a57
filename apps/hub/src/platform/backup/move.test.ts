import { type ScratchDatabase, scratchDatabase, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { runHere } from '../../commands/testing/run-here.ts'
import { contentsOf, FIXTURE_KEY, fixtureDatabase, schemaOf } from './testing/fixture-database.ts'

/** Installs pg-boss, which a start does, and ends the nodes of the fixtures. */
async function stoppedInstance(): Promise<ScratchDatabase> {
  const source = await fixtureDatabase()
  await source.query("update cluster_node set last_heartbeat = now() - interval '1 hour'")
  return source
}

it('moves a stopped instance, and leaves a mark that names the new place without its password', async () => {
  await using source = await stoppedInstance()
  await using target = await scratchDatabase()
  const settings = { MUSTER_DATABASE_URL: source.url }
  const before = await contentsOf(source)
  const { code, out, err } = await runHere(['database', 'move', '--to', target.url], settings)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const { username, host, pathname, password } = new URL(target.url)
  const place = `postgresql://${username}@${host}${pathname}`
  expect(out).toMatch(/^Moved \d+ rows to /)
  expect(out).toContain(`${place}. Set MUSTER_DATABASE_URL to it on every node, then start them.`)
  expect(out).not.toContain(password)
  expect(await contentsOf(target)).toEqual(before)
  expect(await schemaOf(target)).toEqual(await schemaOf(source))

  await expect(testHub({ databaseUrl: source.url, instanceKey: FIXTURE_KEY })).rejects.toThrow(
    `The database was moved to ${place}: set MUSTER_DATABASE_URL to that database.`,
  )
  expect(await runHere(['database', 'move', '--to', target.url], settings)).toEqual({
    code: 1,
    out: '',
    err: `The database was moved to ${place} already.\n`,
  })
  const backup = await runHere(['backup', '/tmp/never-made', '--no-verify'], settings)
  expect(backup).toMatchObject({
    code: 1,
    err: expect.stringContaining(`The database was moved to ${place}`),
  })
  // The move was killed between its two last steps: the same command finishes it.
  await target.query('create table unfinished_copy (started_at timestamptz not null default now())')
  await expect(testHub({ databaseUrl: target.url, instanceKey: FIXTURE_KEY })).rejects.toThrow(
    'a restore or a move that was not finished',
  )
  const finished = await runHere(['database', 'move', '--to', target.url], settings)
  expect(finished.out).toMatch(/^Finished the move to /)
  await using hub = await testHub({ databaseUrl: target.url, instanceKey: FIXTURE_KEY })
  expect(
    await hub.db
      .selectFrom('audit_event')
      .where('event', '=', 'instance_DatabaseMoved')
      .select('data')
      .execute(),
  ).toContainEqual({ data: { to: place } })
})

it('refuses while a node is alive, and a target that is not empty', async () => {
  await using source = await stoppedInstance()
  await using target = await scratchDatabase()
  const move = async (to: string): Promise<string> => {
    const { code, err } = await runHere(['database', 'move', '--to', to], { MUSTER_DATABASE_URL: source.url })
    expect(code).toBe(1)
    expect(err).toMatch(/^[^\n]+\n$/)
    return err
  }
  {
    await using _hub = await testHub({ databaseUrl: source.url, instanceKey: FIXTURE_KEY, nodeName: 'north' })
    expect(await move(target.url)).toContain('Found a running hub (north)')
  }
  expect(await move(source.url)).toMatch(/^--to: found /)
  await target.query('create table somebody (x int)')
  expect(await move(target.url)).toContain(
    '--to: found a database with 1 tables, views and functions, such as somebody',
  )
  await target.query(
    'drop table somebody; create function somebody() returns int language sql as $$ select 1 $$',
  )
  expect(await move(target.url)).toContain('such as somebody()')
  expect(await move('postgresql://x:y@127.0.0.1:1/none')).toContain(
    '--to: found a database that does not let the hub in',
  )
  const { pathname } = new URL(target.url)
  await target.query(
    `create database "${pathname.slice(1)}_latin" template template0 encoding 'LATIN1' locale 'C'`,
  )
  expect(await move(`${target.url}_latin`)).toBe(
    '--to: found a database with the encoding LATIN1, expected one with UTF8.\n',
  )
  await target.query(`drop database "${pathname.slice(1)}_latin"`)
  // A function of this name, found first, stands for an old server.
  await target.query(
    `drop function somebody;
     create function current_setting(name text) returns text language sql as
       $$ select case name when 'server_version_num' then '140011' else pg_catalog.current_setting(name) end $$`,
  )
  expect(await move(`${target.url}?options=${encodeURIComponent('-c search_path=public,pg_catalog')}`)).toBe(
    '--to: found PostgreSQL 14, expected 15 or newer.\n',
  )
  expect(await move('nonsense')).toBe('--to: found another text, expected a postgresql:// URL.\n')
  await using _hub = await testHub({ databaseUrl: source.url, instanceKey: FIXTURE_KEY })
})

it('lets one of two moves at once through', async () => {
  await using source = await stoppedInstance()
  await using first = await scratchDatabase()
  await using second = await scratchDatabase()
  const before = await contentsOf(source)
  const targets = [first, second]
  const ran = await Promise.all(
    targets.map(({ url }) => runHere(['database', 'move', '--to', url], { MUSTER_DATABASE_URL: source.url })),
  )
  const won = ran.findIndex(({ code }) => code === 0)
  expect(ran.map(({ code }) => code).toSorted()).toEqual([0, 1])
  expect(ran[1 - won]!.err).toMatch(
    /^(Found a running hub or another command on|The database was moved to) [^\n]+\n$/,
  )
  expect(await contentsOf(targets[won]!)).toEqual(before)
  expect(
    await targets[1 - won]!.query("select from pg_class where relname in ('device', 'unfinished_copy')"),
  ).toEqual([])
})
