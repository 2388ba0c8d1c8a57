import { VERSION } from '@muster/actions/version'
import type { Command } from 'commander'
import type { Config } from '../platform/config/config.ts'
import { errorLine } from '../startup/error-line.ts'
import { checkedSettings } from './check-config.ts'
import { type CommandLine, EXIT } from './command-line.ts'
import { bytesText, durationText, shareText, timeText } from './status/figures.ts'
import { askHub, type Disk, type HubState, type Instance, readDisks, readInstance } from './status/look.ts'
import { problemText } from './status/problem-text.ts'

/** Problem that the page lists. `bad` comes before `warn`, as on the dashboard. */
type Problem = { level: 'bad' | 'warn'; kind: string; text: string }

/** Everything that the page shows. */
type Status = {
  /** Version of this program. The running hub may be an older one, until its restart. */
  version: string
  address: string
  hub: HubState
  /** Undefined if the database could not be read. */
  instance: Instance | undefined
  files: { kind: 'Folder' | 'Store'; place: string }
  disks: Disk[]
  problems: Problem[]
}

/**
 * Adds `muster-hub status`: what runs, since when and with what, and what needs attention, whether or not the hub runs. It changes and starts
 * nothing.
 */
export function addStatusCommand(program: Command, line: CommandLine): void {
  program
    .command('status')
    .description(
      'show on one page what runs, since when and with what, and what needs attention; changes nothing. Exit code 1: the hub does not run, or something is urgent',
    )
    .action(async (_options: object, command: Command) => {
      const { problems: wrong, warnings } = await checkedSettings(line.environment)
      const problems: Problem[] = [
        ...wrong.map(text => ({ level: 'bad' as const, kind: 'Setting', text })),
        ...warnings.map(text => ({ level: 'warn' as const, kind: 'Setting', text })),
      ]
      if (wrong.length > 0) {
        line.print(command, { version: VERSION, problems }, pageOf([], problems))
        line.exitWith(EXIT.wrong)
        return
      }
      const status = await statusOf(line.settings(), problems)
      line.print(command, status, pageOf(linesOf(status), status.problems))
      line.exitWith(status.problems.some(({ level }) => level === 'bad') ? EXIT.wrong : EXIT.ok)
    })
}

async function statusOf(config: Config, ofSettings: readonly Problem[]): Promise<Status> {
  const [hub, disks, read] = await Promise.all([
    askHub(config),
    readDisks(config),
    readInstance(config).then(
      instance => ({ instance, failure: undefined }),
      (error: unknown) => ({ instance: undefined, failure: errorLine(error, config.dataDir) }),
    ),
  ])
  const { instance, failure } = read
  const problems = [
    ...(hub.state === 'Stopped'
      ? [{ level: 'bad' as const, kind: 'Stopped', text: `The hub does not answer: ${hub.reason}.` }]
      : []),
    ...(hub.state === 'NotReady'
      ? [{ level: 'bad' as const, kind: 'NotReady', text: `The hub cannot serve: ${hub.reason}.` }]
      : []),
    ...(failure === undefined
      ? []
      : [{ level: 'bad' as const, kind: 'Database', text: failure.split('\n')[0]! }]),
    ...(hub.state === 'Degraded'
      ? [{ level: 'warn' as const, kind: 'Degraded', text: `The hub is degraded: ${hub.reason}.` }]
      : []),
    ...(instance?.health.problems ?? []).map(problem => ({
      level: problem.level,
      kind: problem.kind,
      text: problemText(problem, Date.now()),
    })),
    ...outdated(instance, config),
    ...ofSettings,
  ]
  return {
    version: VERSION,
    address: config.publicUrl,
    hub,
    instance,
    files: config.s3
      ? { kind: 'Store', place: `${config.s3.endpoint} ${config.s3.bucket}` }
      : { kind: 'Folder', place: config.dataDir },
    disks,
    problems: problems.toSorted((a, b) => Number(a.level === 'warn') - Number(b.level === 'warn')),
  }
}

/** This node, by its name. */
function ownNode(instance: Instance | undefined, { nodeName }: Pick<Config, 'nodeName'>) {
  return instance?.health.nodes.value?.find(({ name }) => name === nodeName)
}

function outdated(instance: Instance | undefined, config: Config): Problem[] {
  const version = ownNode(instance, config)?.facts?.version
  if (version === undefined || version === VERSION) return []
  return [
    {
      level: 'warn',
      kind: 'Outdated',
      text: `The hub runs release ${version}, and ${VERSION} is installed: restart it.`,
    },
  ]
}

/** Lines of the page, each with its name. */
function linesOf({ version, address, hub, instance, files, disks }: Status): [name: string, text: string][] {
  const { nodes, database, backup } = instance?.health ?? {}
  const unread = instance === undefined ? 'unknown while the database cannot be read' : undefined
  const isEmbedded = instance?.isEmbedded ? ', embedded' : ''
  return [
    ['Muster', `${version} at ${address}, ${STATES[hub.state]}`],
    ...namedOnce(
      'nodes',
      nodes?.value?.map(
        ({ name, uptimeSecs, facts }) =>
          `${name}: ${facts?.version ?? 'unknown release'}, since ${timeText(Date.now() - 1000 * uptimeSecs)} (${durationText(uptimeSecs)}), ${facts?.connections ?? 0} devices`,
      ) ?? [],
      nodes?.failure ?? unread ?? 'none runs',
    ),
    ['devices', instance ? `${instance.devices.connected} of ${instance.devices.total} connected` : unread!],
    [
      'database',
      database?.value
        ? `PostgreSQL ${database.value.version}${isEmbedded}, ${bytesText(database.value.sizeBytes)}, ${database.value.connections} of ${database.value.maxConnections} connections`
        : (database?.failure ?? 'cannot be read'),
    ],
    ['files', files.kind === 'Store' ? `object storage ${files.place}` : `in ${files.place}`],
    ...namedOnce(
      'disk',
      disks.map(({ folder, space }) =>
        space
          ? `${shareText(1 - space.freeBytes / space.totalBytes)} of ${bytesText(space.totalBytes)} used, ${bytesText(space.freeBytes)} free, with ${folder}`
          : `${folder} cannot be read`,
      ),
      'unknown',
    ),
    ['last backup', backup?.value ? backupText(backup.value.last) : (backup?.failure ?? unread!)],
  ]
}

const STATES: Readonly<Record<HubState['state'], string>> = {
  Ready: 'running',
  Degraded: 'running, degraded',
  NotReady: 'running, not ready',
  Stopped: 'not running',
}

type LastBackup = NonNullable<Instance['health']['backup']['value']>['last']

function backupText(last: LastBackup): string {
  if (!last) return 'none by muster-hub backup'
  const checked = last.isVerified ? 'restored on trial' : 'not restored on trial'
  const file = last.file ? `, ${last.file.path}` : ''
  return `${timeText(Date.parse(last.takenAt))}, ${bytesText(last.sizeBytes)}, ${checked}${file}`
}

/** Lines with one name, which only the first of them shows. */
function namedOnce(name: string, texts: readonly string[], none: string): [string, string][] {
  return texts.length === 0 ? [[name, none]] : texts.map((text, index) => [index === 0 ? name : '', text])
}

function pageOf(lines: readonly [name: string, text: string][], problems: readonly Problem[]): string {
  return [
    ...lines.map(([name, text]) => `${name.padEnd(12)} ${text}`),
    ...(lines.length > 0 ? [''] : []),
    problems.length === 0 ? 'Nothing needs attention.' : 'Needs attention:',
    ...problems.map(({ level, text }) => `  ${(level === 'bad' ? 'error' : 'warning').padEnd(8)} ${text}`),
  ].join('\n')
}
