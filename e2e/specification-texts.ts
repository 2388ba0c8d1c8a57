/**
 * A text of the specification. A string is the whole text of an element or of a text node; texts for screen readers only do
 * not count.
 */
export type SpecifiedText =
  | string
  /** A part of a longer text. */
  | { part: string }
  /** The whole text of a heading. */
  | { heading: string }
  /** Column headers of one table, in this order. Other columns may be between them. */
  | { columns: readonly string[] }
  /** Texts of cells in one row of a table. Each is the whole text of its cell. */
  | { row: readonly string[] }
  /** A confirmation prompt of the browser. */
  | { question: string }
  /** The `href` of a link in the main part of the page. */
  | { link: string }

/** Texts that one situation must show. Several entries may share a situation. */
export type SpecifiedSituation = {
  /** Sections of docs/specification.md that give the texts, and of docs/product.md if the text is an addition. */
  section: string
  /** Page and state, by the words of docs/specification.md or docs/product.md. */
  situation: string
  texts: readonly SpecifiedText[]
  /** Texts that this situation must not show. */
  absent?: readonly string[]
}

const PAGE_NOT_FOUND = [
  { heading: 'Page not Found' },
  'The page you are looking for does not exist. Please check the URL or go back to the home page.',
  { link: '/' },
] as const

const EVENT_COLUMNS = { columns: ['ID', 'Timestamp', 'Type', 'Actor', 'Data', 'Action/Job id'] } as const
/** Columns of the logs for which the specification names no columns. An expanded row also shows ID and Data. */
const LOG_COLUMNS = { columns: ['Timestamp', 'What happened', 'Type', 'Actor', 'Action/Job id'] } as const

/** The texts that the specification gives exactly, by the situation in which the console shows them. */
export const SITUATIONS = [
  // Public pages
  {
    section: '2, 5',
    situation: 'login page, nothing typed',
    texts: ['beta', 'Email (required)', 'Password (required)', 'Remember me (optional)'],
  },
  {
    section: '5',
    situation: 'login page, sent blank',
    texts: ['Please enter your email address.', 'Please enter your password.'],
  },
  {
    section: '8',
    situation: 'login page, sign-in failed',
    texts: ['Error', 'Invalid username or password!'],
  },
  {
    section: '2, 5',
    situation: 'sign-up page, nothing typed',
    texts: [
      'Full name (required)',
      'Work email (required)',
      'Password (required)',
      'Confirm password (required)',
      { part: '(required)' },
      { part: '(optional)' },
    ],
  },
  {
    section: '5',
    situation: 'sign-up page, sent with wrong input',
    texts: [
      'Please enter your full name.',
      'Please enter a valid email address.',
      'Password must be at least 8 characters long.',
      'Passwords do not match.',
      'Please agree to the Terms of Service and Privacy Policy.',
    ],
  },
  {
    section: '8',
    situation: 'sign-up page, request failed',
    texts: ['An Error Occurred', { part: 'Please try again later. The database is away.' }],
  },
  {
    section: '2',
    situation: 'activation page, waiting for the answer',
    texts: [{ heading: 'Activating Account' }],
  },
  {
    section: '4',
    situation: 'activation page, Completed',
    texts: [{ heading: 'Account Activated' }],
  },
  {
    section: '4, 8',
    situation: 'activation page, Failed',
    texts: [{ heading: 'Account Activation Failed' }, 'Your account may have already been activated.'],
  },
  {
    section: '8',
    situation: 'activation page, request failed',
    texts: [{ heading: 'Account Activation Failed' }, 'The database is away.'],
  },
  {
    section: '2',
    situation: 'page to reset the password',
    texts: [
      { heading: 'Under Construction' },
      'This feature is currently under construction and will be available soon.',
    ],
  },
  { section: '2', situation: 'unknown address, signed out', texts: PAGE_NOT_FOUND },

  // Pages that are absent or fail
  { section: '2', situation: 'unknown address, signed in', texts: PAGE_NOT_FOUND },
  { section: '2', situation: 'project that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'device that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'repository that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'package that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'version that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  {
    section: '2',
    situation: 'page that fails',
    texts: [{ heading: 'Something went wrong!' }, 'Show Error', 'Try again'],
    absent: ['Hide Error'],
  },
  {
    section: '2',
    situation: 'page that fails, error shown',
    texts: [{ heading: 'Something went wrong!' }, 'Hide Error'],
    absent: ['Show Error'],
  },

  // Top bar
  {
    section: '2',
    situation: 'projects',
    texts: ['beta', 'Projects', 'Repositories', 'Settings', 'Administrator'],
  },
  {
    section: '2, 6',
    situation: 'account menu of an administrator',
    texts: ['Administrator', 'Invitations', 'Settings', 'Administration', 'Log Out'],
  },
  {
    section: '2, 6',
    situation: 'account menu of a user without a display name',
    texts: ['My Account', 'mira@halden.example', 'Invitations', 'Settings', 'Log Out'],
    absent: ['Administration'],
  },

  // Projects
  { section: '2', situation: 'projects', texts: ['First project', 'Create Project'] },
  {
    section: '2, 5',
    situation: 'dialog Create Project, sent empty',
    texts: [{ heading: 'Create Project' }, 'Name (required)', 'Name must not be empty.'],
  },
  {
    section: '2',
    situation: 'devices',
    texts: ['First project', 'All Projects', 'Devices', 'Tokens', 'Audit Log', 'Repositories', 'Settings'],
  },
  {
    section: '2, 4',
    situation: 'devices',
    texts: [
      { columns: ['Name', 'Id', 'First Seen', 'Status', 'Pending Certificates'] },
      { row: ['crane-1', 'Connected', '0', 'View'] },
      { row: ['unnamed', 'Disconnected', '1', 'View'] },
    ],
  },
  {
    section: '2',
    situation: 'guide for a further device',
    texts: ['This machine', 'A Linux device', 'Public Nexigon agent', 'Simulated'],
  },
  {
    section: '2, 4, 5',
    situation: 'device that is connected',
    texts: [
      { heading: 'crane-1' },
      'Connected',
      'HTTP Proxy',
      { heading: 'OTA Update Status' },
      'Name (optional)',
      { heading: 'System Info' },
      'Network interfaces',
      'Disks',
      { heading: 'Properties' },
      { heading: 'Certificates' },
      { heading: 'Recent Events' },
      { heading: 'Connections' },
      { heading: 'Danger Zone' },
      'Delete Device',
    ],
    absent: ['unnamed'],
  },
  {
    section: '2, 4',
    situation: 'device that is disconnected and has no name',
    texts: [{ heading: 'unnamed' }, 'Disconnected'],
    absent: ['Connected'],
  },
  {
    section: '9',
    situation: 'device that is connected',
    texts: [
      '1.5 GiB',
      { row: ['/dev/a', '1023 B', '512 B (50 %)'] },
      { row: ['/dev/b', '1.0 KiB', '341 B (33 %)'] },
      { row: ['/dev/c', '2.0 MiB', '1.5 KiB (0 %)'] },
    ],
  },
  {
    section: '9',
    situation: 'device that is connected',
    texts: [{ row: ['119 s'] }, { row: ['2 min'] }, { row: ['1 h 1 min'] }, { row: ['1 d 2 h 3 min'] }],
  },
  { section: '4', situation: 'update that is completed', texts: ['COMPLETED'] },
  { section: '4', situation: 'update that failed', texts: ['FAILED'] },
  { section: '4', situation: 'update in another state', texts: ['COMMITTING'] },
  {
    section: '4',
    situation: 'device that is connected',
    texts: ['Trace', 'Debug', 'Info', 'Warning', 'Error', 'Critical'],
  },
  {
    section: '4',
    situation: 'certificate that is pending',
    texts: [{ row: ['Pending', 'Accept', 'Reject'] }],
    absent: ['Revoke'],
  },
  {
    section: '4',
    situation: 'device that is connected',
    texts: [{ row: ['Active', 'Revoke'] }],
    absent: ['Accept', 'Reject'],
  },
  {
    section: '4',
    situation: 'certificate that was rejected',
    texts: [{ row: ['Rejected'] }],
    absent: ['Accept', 'Reject', 'Revoke'],
  },
  {
    section: '4',
    situation: 'certificate that was revoked',
    texts: [{ row: ['Revoked'] }],
    absent: ['Accept', 'Reject', 'Revoke'],
  },
  { section: '2', situation: 'deployment tokens', texts: ['New Token', { columns: ['Name', 'Created At'] }] },
  {
    section: '2, 5',
    situation: 'dialog New Token of a project, sent empty',
    texts: [{ heading: 'New Token' }, 'Name (required)', 'Name must not be empty.'],
  },
  {
    section: '4',
    situation: 'deployment token that was created',
    texts: [{ part: 'cannot be viewed later' }],
  },
  {
    section: '5',
    situation: 'deployment token, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this token?' }],
  },
  {
    section: '2, 5',
    situation: 'linked repositories, sent without a choice',
    texts: ['Link Repository', 'Choose a repository.'],
  },
  {
    section: '2',
    situation: 'linked repositories, one linked',
    texts: [{ columns: ['Name', 'Id'] }, { row: ['fleet-tools'] }],
  },
  { section: '2', situation: 'audit log of a project', texts: [{ heading: 'Audit Log' }, LOG_COLUMNS] },
  {
    section: '2',
    situation: 'settings of a project',
    texts: [{ heading: 'Danger Zone' }, 'Delete Project'],
  },
  {
    section: '5',
    situation: 'project, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this project?' }],
  },

  // Repositories
  { section: '2', situation: 'repositories', texts: ['fleet-images', 'Private', 'New Repository'] },
  {
    section: '2, 5',
    situation: 'dialog New Repository',
    texts: [{ heading: 'New Repository' }, 'Name (required)'],
  },
  { section: '4, 8', situation: 'dialog New Repository, name is taken', texts: ['This name is taken.'] },
  {
    section: '2',
    situation: 'packages',
    texts: ['fleet-images', 'All Repositories', 'Packages', 'Assets', 'Audit Log', 'Settings'],
  },
  {
    section: '1, 2',
    situation: 'packages, none yet',
    texts: ['Packages can currently only be managed through the command-line tool.'],
  },
  {
    section: '1, 2',
    situation: 'packages',
    texts: [
      'Packages can currently only be managed through the command-line tool.',
      { row: ['os-image', 'View'] },
    ],
  },
  {
    section: '2',
    situation: 'versions of a package',
    texts: [{ columns: ['Id', 'Created At', 'Tags'] }, { row: ['1.4.0', 'stable', 'View'] }],
  },
  {
    section: '2',
    situation: 'version with a file',
    texts: [
      { heading: 'Tags' },
      '1.4.0',
      { columns: ['Filename', 'Digest', 'Size in bytes'] },
      { row: ['image.raw', '1,536'] },
    ],
  },
  {
    section: '2',
    situation: 'assets of a repository',
    texts: [{ columns: ['Name', 'Digest', 'Size in bytes'] }, { row: ['1,536'] }],
  },
  { section: '2', situation: 'audit log of a repository', texts: [{ heading: 'Audit Log' }, LOG_COLUMNS] },
  {
    section: '2, 4, 5',
    situation: 'settings of a private repository',
    texts: [
      { heading: 'S3 Configuration' },
      'Endpoint (required)',
      'Bucket (required)',
      'Region (required)',
      'Prefix (optional)',
      'Access key id (required)',
      'Secret access key (required)',
      { heading: 'Danger Zone' },
      'Make Public',
      'Delete Repository',
    ],
    absent: ['Make Private'],
  },
  {
    section: '4',
    situation: 'settings of a public repository',
    texts: ['Make Private'],
    absent: ['Make Public'],
  },
  {
    section: '5',
    situation: 'S3 configuration, sent empty',
    texts: [
      'Endpoint must not be empty.',
      'Bucket must not be empty.',
      'Region must not be empty.',
      'Access key id must not be empty.',
      'Secret access key must not be empty.',
    ],
  },
  {
    section: '5',
    situation: 'visibility, about to be changed',
    texts: [{ question: 'Are you sure you want to change the visibility?' }],
  },
  {
    section: '5',
    situation: 'repository, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this repository?' }],
  },

  // Organization
  {
    section: '2, 6',
    situation: 'members and pending invitations',
    texts: [
      'Members',
      { row: ['Administrator', 'Admin'] },
      { row: ['mira@halden.example', 'Member'] },
      { row: ['invited@halden.example'] },
      'Invite User',
    ],
  },
  {
    section: '2, 5',
    situation: 'dialog Invite User, sent empty',
    texts: [{ heading: 'Invite User' }, 'Email (required)', 'Please enter an email address.'],
  },
  {
    section: '5',
    situation: 'dialog Invite User, sent with something else',
    texts: ['Please enter a valid email address.'],
  },

  // Account
  {
    section: '2',
    situation: 'invitations',
    texts: [{ columns: ['Organization id', 'Name'] }, { row: ['Halden Cranes', 'Accept'] }],
  },
  { section: '2', situation: 'profile', texts: ['Profile', 'Security', 'Sessions'] },
  {
    section: '5',
    situation: 'profile, sent blank',
    texts: ['Display name (required)', 'Display name must not be empty.'],
  },
  {
    section: '5',
    situation: 'password page, sent with wrong input',
    texts: ['Password must be at least 8 characters long.', 'Passwords do not match.'],
  },
  {
    section: '5',
    situation: 'dialog New Token of a user, sent empty',
    texts: ['Name (required)', 'Name must not be empty.'],
  },
  {
    section: '4',
    situation: 'user token that was created',
    texts: [{ part: 'cannot be viewed later' }],
  },
  {
    section: '5',
    situation: 'user token, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this token?' }],
  },
  {
    section: '2',
    situation: 'sessions',
    texts: [{ columns: ['Id', 'User agent', 'Created At', 'Expires At'] }],
  },

  // Administration
  {
    section: '2',
    situation: 'dashboard',
    texts: ['Dashboard', 'Users', 'Event Log', 'Actions Log', 'Cluster'],
    absent: ['Jobs'],
  },
  {
    section: '2',
    situation: 'dashboard',
    texts: ['Devices', 'Projects', 'Users', 'Cluster Nodes'],
  },
  {
    section: '2',
    situation: 'users',
    texts: [
      { columns: ['Id', 'Name', 'Email', 'Admin'] },
      { row: ['Administrator', 'Yes'] },
      { row: ['mira@halden.example', 'No'] },
      'New User',
    ],
  },
  {
    section: '2, 5',
    situation: 'dialog New User',
    texts: [{ heading: 'New User' }, 'Email (required)', 'Name (optional)', 'Admin (optional)'],
  },
  {
    section: '4, 8',
    situation: 'dialog New User, email is taken',
    texts: ['User with that email already exists.'],
  },
  {
    section: '8',
    situation: 'dialog New User, failure with a message',
    texts: ['The database is away.'],
  },
  {
    section: '8',
    situation: 'dialog New User, failure without a message',
    texts: ['An error occurred while creating the user.'],
  },
  { section: '2', situation: 'event log', texts: [{ heading: 'Event Log' }, EVENT_COLUMNS] },
  {
    section: '2, 4',
    situation: 'actions log',
    texts: [
      { heading: 'Actions Log' },
      { columns: ['ID', 'Type', 'Actor', 'Data', 'Status'] },
      { row: ['projects_LinkRepository', 'Succeeded'] },
      'Rejected',
      'Panicked',
      'Failed',
      'Pending',
    ],
  },
  {
    section: '2, 4',
    situation: 'jobs',
    texts: [
      { columns: ['ID', 'Timestamp', 'Type', 'Queued', 'Status'] },
      'Pending',
      'Completed',
      'Failed',
      'Expired',
      'Cancelled',
    ],
  },
  {
    section: '2',
    situation: 'cluster',
    texts: [{ heading: 'Cluster' }, { columns: ['Id', 'Name', 'Uptime'] }],
  },
] as const satisfies readonly SpecifiedSituation[]

/** A statement of the specification that the console does not follow, with the decision that says why. */
export type DecidedOtherwise = {
  /** Section of docs/specification.md. */
  section: string
  /** Words of the specification. */
  statement: string
  /** Heading in docs/decisions.md. */
  heading: string
  /** Words of the decision below that heading. */
  decision: string
}

const READINGS = 'Readings of the specification'

/** Statements of the specification that the console does not follow, or follows in a narrower case. */
export const DECIDED_OTHERWISE: readonly DecidedOtherwise[] = [
  {
    section: '2',
    statement: 'then redirects to /login after 4 seconds',
    heading: READINGS,
    decision: 'Only Completed goes on after 4 s; Failed stays, with a link.',
  },
  {
    section: '2',
    statement: "A failed route shows a generic panel 'Something went wrong!'",
    heading: 'Failures',
    decision:
      'An absent organization, project, repository, package, version or device shows "Page not Found"',
  },
  {
    section: '2',
    statement: 'if that fails, it redirects to /login with the current location as redirect',
    heading: READINGS,
    decision: '`redirect` counts only with exactly one leading `/` and no backslash.',
  },
  {
    section: '2',
    statement: "redirects to the first organization's page",
    heading: 'Pages and addresses',
    decision: '`/` goes to it, else to the first.',
  },
  {
    section: '2',
    statement: 'sets the current repository id to repo_ plus the parameter',
    heading: READINGS,
    decision: '`/org_…/repo_…` goes on to `/org_…/repositories/repo_…`.',
  },
  {
    section: '2',
    statement: "table with Name (or 'unnamed')",
    heading: 'Tables, forms and keys',
    decision: "A device without a name is 'unnamed' with its host name beside it",
  },
  {
    section: '2',
    statement:
      "table with Name (or 'unnamed'), Id, First Seen, Status (Connected/Disconnected), Pending Certificates",
    heading: 'Tables, forms and keys',
    decision: 'Without a device the list is the guide that connects the first one',
  },
  {
    section: '4',
    statement: 'logout calls the server, clears the session and discards all cached query data',
    heading: READINGS,
    decision: 'A failure at the hub leaves the session and says so.',
  },
  {
    section: '4',
    statement: 'any other result is only logged',
    heading: 'Failures',
    decision: 'A repository name that is taken leaves the dialog open and says "This name is taken."',
  },
  {
    section: '5',
    statement: 'the submit button is disabled while the form cannot be submitted',
    heading: READINGS,
    decision: 'A button is enabled at first. It is disabled after a failed validation until that is mended',
  },
  {
    section: '5',
    statement: 'Device deletion and member removal ask no confirmation.',
    heading: 'Tables, forms and keys',
    decision: 'sends nothing for 10 s, in which the row offers Undo.',
  },
  {
    section: '6',
    statement: 'whether admin routes are guarded is not shown',
    heading: READINGS,
    decision: 'The pages of administration have no guard in the console',
  },
  {
    section: '7',
    statement: 'A 401 response has no special handling (rejected as is).',
    heading: 'Failures',
    decision: 'A 401 is shown where it happened, with a link "Log in".',
  },
  {
    section: '7',
    statement: 'users_SetPassword {userId, password}.',
    heading: 'Passwords and tokens',
    decision: 'need a session, whose sign-in is younger than 15 min or',
  },
  {
    section: '7',
    statement: 'Most queries refresh every 60 s with 30 s stale time',
    heading: READINGS,
    decision: 'The actor and commands are never polled. Hidden tabs pause.',
  },
  {
    section: '8',
    statement: "box 'An Error Occurred' with 'Please try again later.' plus the error message",
    heading: 'Failures',
    decision: 'A refusal of the hub that names only fields of the form is shown at these fields',
  },
  {
    section: '8',
    statement: 'Repository create non-Created result: logged to the console only.',
    heading: 'Failures',
    decision: 'A repository name that is taken leaves the dialog open and says "This name is taken."',
  },
  {
    section: '5',
    statement: "else it fails with 'Not logged in'",
    heading: 'Failures',
    decision: '"Not logged in", "User ID is not available" and "User cancelled the action" are shown nowhere',
  },
  {
    section: '8',
    statement: "'Not logged in': actor kind is not User.",
    heading: 'Failures',
    decision: '"Not logged in", "User ID is not available" and "User cancelled the action" are shown nowhere',
  },
  {
    section: '8',
    statement: "'User ID is not available': session has no user id.",
    heading: 'Failures',
    decision: '"Not logged in", "User ID is not available" and "User cancelled the action" are shown nowhere',
  },
  {
    section: '8',
    statement: "'User cancelled the action': a declined confirmation; no request is made.",
    heading: 'Failures',
    decision: '"Not logged in", "User ID is not available" and "User cancelled the action" are shown nowhere',
  },
  {
    section: '9',
    statement: 'User-agent column truncated to 40 characters wide.',
    heading: READINGS,
    decision: 'The user agent is cut by style.',
  },
]
