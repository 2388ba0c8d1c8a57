import type { ActionOutput } from '@muster/actions/client'
import { Check, Copy, Info } from 'lucide-react'
import type { ReactNode } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { counted, formatBytes, formatCount } from '../../../lib/app/format.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Code, CodeText } from '../../../ui/Code.tsx'
import { useCopy } from '../../../ui/use-copy.ts'
import shared from '../../software/shared/software.module.css'
import { imageVersionOf } from '../../software/shared/version-label.ts'
import { moveTagCommand, newTagCommand, setImageVersionCommand, uploadCommand } from '../cli-commands.ts'
import { followersText } from './MoveTags.tsx'
import styles from './NextSteps.module.css'
import { SiblingLink } from './SiblingLink.tsx'
import { namedProjects, type Usage } from './usage.ts'

type Details = ActionOutput<'repositories_GetVersionDetails'>

type NextStepsProps = {
  version: Details
  name: string
  usage: Usage
  path: readonly [repository: string, packageName: string, version: string]
}

type Step = {
  key: string
  isDone: boolean
  title: ReactNode
  end?: ReactNode
  text: ReactNode
  command?: string
}

/** Checklist until devices install a version that no device runs. Each step is marked as done from the data of the hub. */
export function NextSteps({ version, name, usage, path }: NextStepsProps) {
  const steps = [reportStep(version, usage, path), fileStep(version, path), ...tagSteps(usage, path)]
  const current = steps.findIndex(({ isDone }) => !isDone)
  return (
    <section className={`sheet section ${shared.linkedText} ${styles.steps}`} aria-labelledby="next-heading">
      <header>
        <h2 id="next-heading">Nobody runs it yet</h2>
      </header>
      <p className={shared.text}>{summaryOf(version, usage)}</p>
      <ol className={styles.list}>
        {steps.map(({ key, isDone, title, end, text, command }, index) => (
          <li
            key={key}
            className={`${styles.step} ${isDone ? styles.done : index === current ? styles.current : ''}`}
          >
            <span className={styles.number} aria-hidden="true">
              {isDone ? <Check className="icon small-icon" /> : index + 1}
            </span>
            <h3 className={`wrap ${shared.stepHead}`}>
              {isDone && <span className="visually-hidden">Done: </span>}
              {title}
              {end && <span className={styles.end}>{end}</span>}
            </h3>
            <p>{text}</p>
            {command &&
              (index === current ? (
                <CurrentCommand text={command} />
              ) : (
                <Code text={command} label="Copy the command" prompt />
              ))}
          </li>
        ))}
      </ol>
      <FailingBefore assets={version.assets} name={name} usage={usage} />
    </section>
  )
}

function reportStep(
  { createdAt, tags, metadata }: Details,
  { reportedAs }: Usage,
  path: NextStepsProps['path'],
): Step {
  const locked = tags.find(tag => tag.locked)?.tag
  const imageVersion = imageVersionOf(metadata)
  return {
    key: 'report',
    isDone: imageVersion !== undefined,
    title: locked ? (
      <>
        Created with the locked tag <span className="mono">{locked}</span>
      </>
    ) : (
      'Created'
    ),
    end: <Time at={createdAt} />,
    text: imageVersion
      ? `imageVersion is ${imageVersion}. Devices report this word when they run it.`
      : `imageVersion is missing. Devices report ${reportedAs} instead if their update script supports it.`,
    ...(imageVersion === undefined && {
      command: setImageVersionCommand(...path, metadata, locked ?? reportedAs).command,
    }),
  }
}

function fileStep({ assets }: Details, [repository, packageName, version]: NextStepsProps['path']): Step {
  const ready = assets.filter(({ status }) => status === 'Available')
  const isDone = assets.length > 0 && ready.length === assets.length
  return {
    key: 'files',
    isDone,
    title:
      assets.length === 0
        ? 'Upload files'
        : isDone
          ? `${counted(assets.length, 'file')} uploaded, digests verified`
          : `${formatCount(ready.length)} of ${counted(assets.length, 'file')} ${ready.length === 1 ? 'is' : 'are'} ready`,
    text:
      assets.length === 0
        ? 'Devices download the files of a version.'
        : `${formatBytes(sizeOf(assets))} in all.`,
    ...(!isDone && { command: uploadCommand(repository, packageName, version).command }),
  }
}

/** Steps that move tags to this version: first the tag with the fewest followers, then the tag with the most. */
function tagSteps(usage: Usage, path: NextStepsProps['path']): Step[] {
  const here = followedHere(usage)
  if (here)
    return [
      {
        key: here.tag,
        isDone: true,
        title: (
          <>
            <Badge>{here.tag}</Badge> is here
          </>
        ),
        end: here.since && <Time at={here.since} />,
        text: `${followersText(usage, here)} They install it at their next check.`,
      },
      ...moveSteps(usage, path).slice(-1),
    ]
  const moves = moveSteps(usage, path)
  if (moves.length > 0) return moves
  return [
    {
      key: 'tag',
      isDone: false,
      title: 'Give it a tag that devices follow',
      text: 'No other version has a tag that can move here. Devices follow a tag, such as stable, to its current version.',
      command: newTagCommand(...path).command,
    },
  ]
}

/** Tags that can move to this version: those that devices follow, the fewest first, or else one tag that none follows. */
function wantedTags(usage: Usage): Usage['tags'] {
  const movable = usage.tags
    .filter(({ locked, version }) => !locked && version.versionId !== usage.versionId)
    .sort((a, b) => (a.followers?.deviceCount ?? 0) - (b.followers?.deviceCount ?? 0))
  const followed = movable.filter(({ followers }) => followers?.deviceCount)
  return followed.length > 0 ? followed : movable.slice(0, 1)
}

function moveSteps(usage: Usage, path: NextStepsProps['path']): Step[] {
  const wanted = wantedTags(usage)
  return [...new Set([wanted[0], wanted.at(-1)])].flatMap(tag => {
    if (!tag) return []
    const projects = namedProjects(usage, tag.followers?.projects ?? [])
    const where = projects
      .slice(0, 3)
      .map(project => `${formatCount(project.count)} in ${project.name}`)
      .join(', ')
    const connected = tag.followers?.connectedCount
    return [
      {
        key: tag.tag,
        isDone: false,
        title: (
          <>
            Move <Badge>{tag.tag}</Badge> here
          </>
        ),
        end: (
          <>
            now on <SiblingLink {...tag.version} />
          </>
        ),
        text: `${followersText(usage, tag)}${where && usage.projectCount > 1 ? ` ${where}.` : ''}${
          connected ? ` ${formatCount(connected)} ${connected === 1 ? 'is' : 'are'} connected.` : ''
        }`,
        command: moveTagCommand(...path, tag.tag).command,
      },
    ]
  })
}

function followedHere(usage: Usage): Usage['tags'][number] | undefined {
  return usage.tags.find(
    ({ locked, version, followers }) =>
      !locked && version.versionId === usage.versionId && followers?.deviceCount,
  )
}

function summaryOf({ assets, metadata }: Details, usage: Usage): string {
  const isComplete = assets.length > 0 && assets.every(({ status }) => status === 'Available')
  const here = followedHere(usage)
  if (here) return `${followersText(usage, here)} The first one that installs it appears here within seconds.`
  const start = isComplete
    ? 'The version is complete.'
    : 'The version is not complete: do not move a tag here yet.'
  const word =
    imageVersionOf(metadata) === undefined ? ' Devices cannot say for certain that they run it.' : ''
  const [first] = wantedTags(usage)
  const devices = first?.followers?.deviceCount
  const next =
    isComplete && devices
      ? ` Next: give it to the ${counted(devices, 'device')} that ${devices === 1 ? 'follows' : 'follow'} ${first.tag}.`
      : ''
  return `${start}${word} No tag that devices follow points here, so no device installs it.${next}`
}

function sizeOf(assets: Details['assets']): number {
  return assets.reduce((sum, { size }) => sum + Number(size), 0)
}

type FailingBeforeProps = Pick<Details, 'assets'> & { name: string; usage: Usage }

/** Number of devices that failed to install the previous version. They try this version once their tag points to it. */
function FailingBefore({ assets, name, usage: { before } }: FailingBeforeProps) {
  const former = useActionState(
    'repositories_GetVersionDetails',
    { versionId: before?.versionId ?? '' },
    { enabled: Boolean(before?.fails) },
  ).data
  if (!before?.fails) return null
  const more = former && former.assets.length > 0 ? sizeOf(assets) - sizeOf(former.assets) : 0
  return (
    <div className={styles.hint}>
      <Info className="icon small-icon" aria-hidden />
      <span>
        {counted(before.fails, 'device')} failed to install <SiblingLink {...before} />. They try {name}
        {more !== 0 && `, which is ${formatBytes(Math.abs(more))} ${more > 0 ? 'larger' : 'smaller'},`} when
        their tag points here.
      </span>
    </div>
  )
}

/** The command of the current step. Its button is the primary button of the page. */
function CurrentCommand({ text }: { text: string }) {
  const { state, copy } = useCopy(text)
  return (
    <div className={styles.command}>
      <div className="code">
        <CodeText text={text} prompt />
      </div>
      <Button variant="primary" icon={state === 'copied' ? Check : Copy} onClick={() => void copy()}>
        {state === 'copied' ? 'Copied' : 'Copy command'}
      </Button>
    </div>
  )
}
