import { counted } from '../../../lib/app/format.ts'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Code } from '../../../ui/Code.tsx'
import shared from '../../software/shared/software.module.css'
import { moveTagCommand, newTagCommand } from '../cli-commands.ts'
import styles from './MoveTags.module.css'
import { namedProjects, type Usage } from './usage.ts'

type MoveTagsProps = {
  usage: Usage
  name: string
  /** Names of repository, package and version in paths. */
  path: readonly [repository: string, packageName: string, version: string]
}

/** For each tag that can move, the command that moves it here, or back to the version that had it before, and what then happens. */
export function MoveTags({ usage, name, path }: MoveTagsProps) {
  const [repository, packageName, version] = path
  const moves = usage.tags.flatMap(tag => {
    if (tag.locked) return []
    const isHere = tag.version.versionId === usage.versionId
    if (isHere && !tag.before) return []
    const target = isHere ? tag.before!.path : version
    return [{ tag, isHere, command: moveTagCommand(repository, packageName, target, tag.tag) }]
  })
  return (
    <section className={`sheet section ${styles.moves}`} id="move" aria-labelledby="move-heading">
      <header>
        <h2 id="move-heading">Move a tag</h2>
        <p>Devices install what their tag points to, at their next check.</p>
      </header>
      {moves.map(({ tag, isHere, command }) => (
        <div key={tag.tag}>
          <h3 className={`wrap ${shared.stepHead}`}>
            <Badge>{tag.tag}</Badge>{' '}
            {isHere ? `back to ${tag.before!.name}` : `here, from ${tag.version.name}`}
          </h3>
          <p>
            {followersText(usage, tag)}
            {isHere && tag.followers?.deviceCount
              ? ` Those on ${name} install ${tag.before!.name} again.`
              : ''}
          </p>
          <Code text={command.command} label={`Copy the command: ${command.what}`} prompt />
        </div>
      ))}
      {moves.length === 0 && (
        <div>
          <h3 className={`wrap ${shared.stepHead}`}>A new tag</h3>
          <p>No other version has a tag that can move here.</p>
          <Code
            text={newTagCommand(repository, packageName, version).command}
            label="Copy the command: Give it a tag"
            prompt
          />
        </div>
      )}
    </section>
  )
}

/** Sentence with the number of devices that follow a tag, and their projects. */
export function followersText(usage: Usage, { tag, followers }: Usage['tags'][number]): string {
  if (!followers) return ''
  const { deviceCount } = followers
  if (deviceCount === 0) return `No device follows ${tag}.`
  const projects = namedProjects(usage, followers.projects)
  const where = projects.length === 1 && usage.projectCount > 1 ? `, all in ${projects[0]!.name}` : ''
  return `${counted(deviceCount, 'device')} ${deviceCount === 1 ? 'follows' : 'follow'} ${tag}${where}.`
}
