import { Link } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'

/** Link to the settings of a project, which has the address and the headers of its export of events. */
export function ProjectSettingsLink({ projectId }: { projectId: string }) {
  return (
    <Link
      from="/org_{$organization}/settings"
      to="/org_{$organization}/projects/$projectId/settings"
      params={{ projectId }}
    >
      Change in the settings of the project
      <ArrowRight className="icon small-icon" aria-hidden />
    </Link>
  )
}
