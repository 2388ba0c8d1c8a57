import { isLoopback } from '@muster/actions'
import pg from 'pg'
import { features } from '../../features/index.ts'
import { clockDifference, MAX_CLOCK_DIFFERENCE_MS } from '../../platform/cluster/clock.ts'
import type { Config } from '../../platform/config/config.ts'
import { exists, secretsFile } from '../../platform/database/server/embedded-home.ts'
import { EMBEDDED_RELEASE, releasesSince } from '../../platform/database/server/embedded-release.ts'
import { instanceAccess } from '../../platform/database/server/instance-access.ts'
import { plannedMigrations } from '../../platform/database/server/migrate.ts'
import { type Finding, failure, ok, type Probe, warning } from '../../platform/operator/finding.ts'
import { quietLog } from '../instance-database.ts'

/** Connections that a node opens: its pool, look-ups, messages, and a few at its start (docs/operating.md, "Sizes"). */
const CONNECTIONS_OF_A_NODE = 16
/** Age of the oldest transaction id from which PostgreSQL is about to stop writes: 1.5 of 2.1 thousand millions. */
const MAX_TRANSACTION_AGE = 1_500_000_000

type Facts = {
  version: string
  nowMs: number
  isReadOnly: boolean
  autovacuum: boolean
  maxConnections: number
  connections: number
  transactionAge: number
}

/** Checks of the database: version, settings, pending migrations, and the clock of this machine against its clock. */
export function databaseProbe(config: Config): Probe {
  return {
    name: 'database',
    run: () => checkDatabase(config),
    advice: 'Let the database answer, or correct MUSTER_DATABASE_URL.',
  }
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl === undefined && !(await exists(secretsFile(dataDir))))
    return [
      warning(
        `There is no database in ${dataDir} yet.`,
        'Start the hub, which makes one, or correct MUSTER_DATA_DIR.',
      ),
    ]
  await using instance = await instanceAccess(config, quietLog(config))
  const client = new pg.Client({
    ...instance.access.hub,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  // A broken connection also fails the statement that runs on it.
  client.on('error', () => {})
  await client.connect()
  try {
    const { value: facts, aheadMs } = await clockDifference(
      () => factsOf(client),
      ({ nowMs }) => nowMs,
    )
    const { migrations } = await plannedMigrations(client, quietLog(config))
    const pending = migrations.filter(({ waitsFor }) => waitsFor.length === 0)
    const ofFeatures: Finding[] = []
    for (const check of features.flatMap(({ checks = [] }) => checks))
      ofFeatures.push(...(await check(client)))
    return [
      databaseUrl === undefined ? embedded(facts, config) : external(facts),
      ...settingsOf(facts),
      ...(pending.length > 0
        ? [
            warning(
              `The database lacks ${pending.length} migrations of this release.`,
              'Start the hub, or run muster-hub migrate.',
            ),
          ]
        : []),
      ...ofFeatures,
      clock(aheadMs),
    ]
  } finally {
    await client.end()
  }
}

async function factsOf(client: pg.Client): Promise<Facts> {
  const { rows } = await client.query<Facts>(
    `select current_setting('server_version') as version,
            (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
            pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
            current_setting('autovacuum') = 'on' as autovacuum,
            current_setting('max_connections')::int as "maxConnections",
            (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
            (select age(datfrozenxid)::int from pg_database where datname = current_database()) as "transactionAge"`,
  )
  return rows[0]!
}

/** The embedded server suits evaluation, so a public address makes it a warning. */
function embedded({ version }: Facts, { publicUrl }: Config): Finding {
  const missed =
    version === EMBEDDED_RELEASE.version ? releasesSince(EMBEDDED_RELEASE.releasedAt, new Date()) : undefined
  const age =
    missed === undefined
      ? ''
      : `, released on ${EMBEDDED_RELEASE.releasedAt}${missed === 0 ? '' : `, with ${missed} planned minor ${missed === 1 ? 'release' : 'releases'} since`}`
  const found = `The embedded PostgreSQL is ${version}${age}.`
  return isLoopback(publicUrl)
    ? ok(found)
    : warning(
        `${found} It follows security releases late, and others reach this hub.`,
        'Use a PostgreSQL of yours: MUSTER_DATABASE_URL.',
      )
}

function external({ version }: Facts): Finding {
  const major = Number.parseInt(version, 10)
  // The community supports a major version for five years: version 15 until November 2027.
  const supportEnds = new Date(Date.UTC(2012 + major, 10, 15))
  return new Date() > supportEnds
    ? warning(
        `PostgreSQL is ${version}, which gets no security releases since November ${2012 + major}.`,
        'Upgrade it to a newer major version.',
      )
    : ok(`PostgreSQL is ${version}.`)
}

function settingsOf({
  isReadOnly,
  autovacuum,
  maxConnections,
  connections,
  transactionAge,
}: Facts): Finding[] {
  const findings: Finding[] = []
  if (isReadOnly)
    findings.push(
      failure(
        'The database is read-only, as a standby is.',
        'Let MUSTER_DATABASE_URL lead to the primary, or promote the standby.',
      ),
    )
  if (!autovacuum)
    findings.push(
      warning(
        'autovacuum is off, so tables and indexes grow without limit.',
        'Set autovacuum = on in PostgreSQL.',
      ),
    )
  if (connections + CONNECTIONS_OF_A_NODE > maxConnections)
    findings.push(
      warning(
        `${connections} of ${maxConnections} connections are in use, and a node needs up to ${CONNECTIONS_OF_A_NODE}.`,
        'Raise max_connections of PostgreSQL.',
      ),
    )
  if (transactionAge > MAX_TRANSACTION_AGE)
    findings.push(
      warning(
        `The oldest transaction id is ${transactionAge} transactions old; PostgreSQL stops writes at 2,100,000,000.`,
        'End long transactions and run VACUUM FREEZE.',
      ),
    )
  return findings
}

function clock(aheadMs: number): Finding {
  if (Math.abs(aheadMs) <= MAX_CLOCK_DIFFERENCE_MS)
    return ok('The clocks of this machine and the database agree.')
  const secs = Math.round(Math.abs(aheadMs) / 1000)
  return warning(
    `The clock of this machine is ${secs} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database.`,
    'Run NTP on both machines.',
  )
}
