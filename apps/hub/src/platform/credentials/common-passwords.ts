/** Repeated characters, sequences and others of the most common passwords that the list of the package lacks, in lower case. */
const FURTHER = `
  00000000 000000000 0000000000 01010101 01234567 012345678 0123456789 09876543 0987654321 10101010 111111111 1111111111
  12121212 123123123 12341234 123abcde 13131313 14141414 15151515 159357159 159753159 15975328 16161616 1q1q1q1q
  1qaz1qaz 20202020 21212121 22222222 222222222 23232323 23456789 234567890 24682468 31313131 321321321 33333333
  333333333 44444444 444444444 55555555 555555555 5555555555 56565656 66666666 666666666 69696969 75395128 77777777
  777777777 7777777777 78787878 852456852 87654321 88888888 888888888 8888888888 98765432 987654321 9876543210 98989898
  99999999 999999999 9999999999 aa12345678 aaaaaaaa aaaaaaaaa aaaaaaaaaa abababab abcabcabc abcdabcd abcdefgh abcdefghi
  abcdefghij adidas123 admin1234 admin12345 admin123456 admin@123 adminadmin administrador alexis123 andrea123 aobo2010
  asasasas asdasdasd aurelie1 bailey123 barcelona1 benfica1 brasil123 calvin123 changeme123 cheese123 chelsea123
  christ123 coca-cola computer123 dallas123 dddddddd default123 domingo1 donald123 eminem123 facebook1 facebook123
  fender123 ffffffff flower123 fluffy123 fortnite freedom123 gemini123 gggggggg gracie123 guest1234 guitar123 gwerty123
  hahahaha hannah123 harley123 hello12345 hotmail1 iceman123 ichliebedich iloveyou3 inside123 italia123 javier123
  jessica123 jjjjjjjj lauren123 legend123 leticia1 letmein! letmein12 lovely123 loveme123 loveyou123 ludwig123 maganda1
  mexico123 miguel123 minecraft1 minnie123 mmmmmmmm mohamed1 monica123 morgan123 mozart123 mustang123 nathan123
  newyork123 nks230kjs82 november11 null1234 octopus1 olivia123 orange123 p@55w0rd p@ssw0rd1 p@ssw0rd123 p@ssword
  pa$$word parola123 pass12345 pass123456 pass@123 pass@word1 passwd123 password. password1! password123! password12345
  password77 password@123 passwort123 peanut123 pikachu123 pink1234 player123 princess12 princess123 prosper1 purple123
  qazqazqaz qqqqqqqq qqww1122 qwe12345 qweqweqwe qwerqwer qwerty1! qwerty123! qwerty55 qwertyqwerty qwertz123 qwertzui
  qwertzuiop rabbit123 ranger123 rebelde1 rockyou1 rootroot royalty1 rrrrrrrr sakura123 samuel123 sandra123 schatzi1
  scooby123 scotland1 secret1234 september1 shalom123 silver123 simone123 snoopy123 spongebob1 ssssssss stella123
  strawberry1 subaru123 summer123 summer2020 summer2021 summer2022 summer2023 summer2024 summer2025 sunshine12
  sunshine123 superstar1 surfer123 system123 taurus123 taylor123 temp12345 test12345 test123456 tigger123 tinkerbell1
  toyota123 tttttttt turkey123 turtle123 tweety123 twilight1 twinkle1 unlocked user1234 valeverga vegeta123 volcom123
  vsegda33 walker123 welcome! welcome1! welcome1234 welcome@123 willow123 windows10 windows7 winner123 winter123
  winter2020 winter2021 winter2022 winter2023 winter2024 winter2025 wolverine1 wwwwwwww x4ivyga51f xbox3600 xiaoming
  xxxxxxxx yamaha123 yellow123 yuantuo2012 yvonne123 yyyyyyyy zaq1zaq1 zhang123 zinch123 zxcvbnm, zxcvbnm,./ zxcvzxcv
  zxczxczxc zzzzzzzz
`

let common: Promise<ReadonlySet<string>> | undefined

/**
 * Returns whether a password is one of the most common ones, in any letter case: about 18,000 of 8 or more characters. The list takes
 * megabytes, so only the process that hashes passwords loads it, which ends after a minute without work.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  common ??= loadCommon()
  return (await common).has(password.toLowerCase())
}

async function loadCommon(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  const listed = dictionary['passwords-common'].map(text => text.toLowerCase())
  return new Set([...listed, ...FURTHER.trim().split(/\s+/)])
}
