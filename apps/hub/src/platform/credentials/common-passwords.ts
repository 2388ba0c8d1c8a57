/** The most common passwords of at least 8 characters, in lower case, as found in lists of leaked passwords. */
const COMMON = new Set(
  `
  00000000 000000000 0000000000 01010101 01020304 01234567 012345678 0123456789 0987654321 09876543 10101010 1020304050
  10203040 11111111 111111111 1111111111 11112222 11223344 1122334455 112233445566 12121212 12312312 123123123 12341234
  12344321 12345678 123456789 1234567890 12345678900 12345678910 123456789a 123456789q 1234567a 1234567q 12345qwert
  12345qwerty 1234abcd 1234qwer 123654789 123698745 123abc123 123abcde 123qwe123 123qweasd 123qweasdzxc 12345abc
  123456aa 123456ab 123456abc 123456as 123456qw 123456qwe 123456qwerty 123456zx 123456789z 13131313 13579246 1357924680
  135792468 14141414 14725836 147258369 147852369 15151515 159357159 159753159 15975328 159753456 16161616 1a2b3c4d 1a2b3c4d5e
  1q1q1q1q 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1qaz1qaz 1qaz2wsx 1qaz2wsx3edc 1qazxsw2 1qazxsw23edc 1qw23er4 20202020 21212121
  22222222 222222222 22446688 23232323 234567890 23456789 24681012 24682468 25251325 25802580 2wsx3edc 31415926 31313131
  314159265 32165498 321321321 33333333 333333333 3edc4rfv 44444444 444444444 4815162342 55555555 555555555 5555555555
  56565656 66666666 666666666 69696969 741852963 74108520 75395128 77777777 777777777 7777777777 78787878 78945612
  789456123 789456123a 852456852 87654321 88888888 888888888 8888888888 963852741 987456321 987654321 9876543210 98765432
  98989898 99999999 999999999 9999999999 a1234567 a12345678 a123456789 a1b2c3d4 a1b2c3d4e5 a1s2d3f4 aa123456 aa12345678
  aaaa1111 aaaaaaaa aaaaaaaaa aaaaaaaaaa aabbccdd abababab abc12345 abc123456 abc123456789 abc123abc abcabcabc abcd1234
  abcd12345 abcd123456 abcdabcd abcde12345 abcdef12 abcdef123 abcdefgh abcdefghi abcdefghij academia access14 access123
  adelaide adgjmptw adidas123 admin123 admin1234 admin12345 admin123456 admin@123 adminadmin administrator administrador
  adrianna adrienne albatros alejandra alejandro alexande alexander alexander1 alexandr alexandra alexandre alexandria
  alexis123 allison1 aleksandr aleksandra america1 american anastasia anderson andrea123 andromeda angel123 angelica
  angelina angelito animals1 annabelle anthony1 antonella aobo2010 apollo13 apple123 aquarius armagedon arsenal1
  arsenal123 asasasas asd123asd asd123456 asdasd123 asdasdasd asdf1234 asdfasdf asdfg123 asdfg12345 asdfghjk asdfghjkl
  asdfghjkl1 asdfghjkl123 asdzxc123 ashley123 assassin asshole1 athletic aurelie1 austin123 avalanche awesome1 az123456 azerty123
  azertyui azertyuiop azsxdcfv babygirl babygirl1 bailey123 baseball baseball1 basketball basketball1 bastards batman123
  baltimore barcelona barcelona1 barbara1 bearbear beatrice beautiful beautiful1 benfica1 benjamin benjamin1 bernardo
  bettyboop bigdaddy birthday blackberry blackcat blackjack blahblah blink182 bluebird blueberry bluemoon boomboom bonjour1
  bradford brandon1 brasil123 brittany brooklyn brooklyn1 bubbles1 buddy123 bulldogs bullshit bullshit1 butterfly
  butterfly1 buttercup caliente california calvin123 cameron1 camaro69 captain1 cardinal carolina caroline carpediem
  casablanca cassandra catalina catherine celtic1888 champion champions changeit changeme changeme1 changeme123 charlie1
  charlie123 charlotte charlotte1 cheese123 chelsea1 chelsea123 cherokee chester1 chevelle chicago1 chicken1 chocolat
  chocolate chocolate1 christ123 christian christian1 christin christina christine christmas christoph christopher
  cinderella cjkysirj claudia1 clifford clinton1 coca-cola cocacola cocacola1 colombia colorado comcast1 computer
  computer1 computer123 consuelo cookie123 corvette cowboys1 cristian cristina cristiano crystal1 cutiepie daddy123
  daddysgirl dallas123 danielle danielle1 daniel123 darkness darthvader david123 dddddddd december default1 default123
  destiny1 diamond1 diamonds dickhead dinosaur disneyland dodgers1 dolphin1 dolphins domingo1 dominique donald123
  dragonball dragonballz dragon12 dragon123 dreamer1 drowssap einstein eclipse1 eduardo1 electric elephant
  elizabeth elizabeth1 eminem123 emmanuel enterprise esmeralda esperanza estrella eternity everton1 evolution excalibur
  explorer facebook facebook1 facebook123 fernanda fernando fender123 ffffffff firebird firefire fireman1 flamengo
  florence florida1 flower123 flowers1 fluffy123 football football1 football12 football123 forever1 forever21 fortnite
  francesca francesco francisco franklin freddie1 freedom1 freedom123 friends1 friendship frontier fuckface fuckoff1
  fuckyou1 fuckyou123 fuckyou2 fyfcnfcbz gabriel1 gabriela gabriele gabrielle gameover gandalf1 garfield garfield1
  gateway1 gemini123 generals george123 gfhjkm123 gggggggg gilberto ginger123 giovanna giovanni girlfriend gizmo123
  goldfish goldberg goodluck goodmorning google123 gotohell gracie123 graduate greenday greenday1 guadalupe guest1234
  guillermo guinness guitar123 guitarra gwerty123 hahahaha hamilton hannah123 hannover happy123 happyday happydays
  hardcore harley123 harrison hastings heather1 hello123 hello1234 hello12345 hellohello hellokitty hercules hernandez
  highland hollywood homer123 honey123 hospital hotmail1 humphrey hunter12 hunter123 ichliebedich iceman123 icecream
  iloveme1 iloveyou iloveyou! iloveyou1 iloveyou12 iloveyou123 iloveyou2 iloveyou3 imissyou immortal infinity
  inside123 internet internet1 ireland1 isabella isabella1 isabelle islander italia123 jackass1 jackson1 jacqueline
  jamaica1 james123 jamesbond january1 jasmine1 jason123 javier123 jayhawks jeffrey1 jennifer jennifer1 jeremiah
  jessica1 jessica123 jesuschrist jesus123 jesus777 jjjjjjjj johanna1 johannes john1234 johncena johnson1 jonathan
  jonathan1 jordan123 jordan23 josephine joshua123 juliette junior123 jupiter1 justice1 justin123 justinbieber
  juventus kangaroo karolina katarina katherine kathleen katrina1 kawasaki kimberly kingkong kissmyass kitty123
  kittycat knights1 kristina kristine lacrosse lakers24 lasvegas lauren123 lavender lawrence lebron23 legend123
  legolas1 leonardo letmein1 letmein12 letmein123 letmein! letmeinnow leticia1 liberty1 lightning lineage2 liverpoo liverpool
  liverpool1 logan123 lollipop lol12345 lollol123 lorraine love1234 love12345 lovelove loveless lovely123 loveme123
  loverboy loveyou1 loveyou123 ludwig123 machine1 macintosh maddison madison1 madonna1 maganda1 magdalena mahalkita
  manchester manchester1 manunited marcella margaret margarita maria123 marianne marie123 marina123 marines1 mario123
  marlboro marlboro1 marshall martina1 martinez master12 master123 mastermind matrix123 matthew1 maverick maxwell1
  mayflower mazda626 megatron melissa1 mercedes mercedes1 mermaid1 metallic metallica metallica1 mexico123 michael1
  michael123 michaela michelle michelle1 microsoft midnight midnight1 miguel123 minecraft minecraft1 minnie123
  miranda1 mitchell mmmmmmmm mohamed1 mohammad mohammed monalisa money123 monica123 monkey12 monkey123 monster1
  monster123 montreal moonlight morgan123 mortimer mountain mozart123 muhammad music123 mustang1 mustang123 myspace1
  mypassword naruto123 natalia1 natalie1 nathan123 national nautilus nevermind newcastle newpassword newyork1 newyork123
  nicholas nicholas1 nicole123 nightmare nintendo nirvana1 nks230kjs82 nopassword november november1 null1234
  november11 oblivion october1 octopus1 oklahoma oliver123 olivia123 operator orange123 overlord p@55w0rd p@ssw0rd
  p@ssw0rd1 p@ssw0rd123 p@ssword p4ssw0rd p455w0rd pa55w0rd pa55word pa$$w0rd pa$$word paintball pakistan pakistan1
  paladin1 pandora1 panther1 panthers papillon paradise paris123 parola123 pass1234 pass12345 pass123456 pass@123 pass@word1
  passpass passport passw0rd passw0rd1 passwd123 password password! password. password0 password00 password01 password1 password1!
  password10 password11 password12 password123 password123! password1234 password12345 password13 password2 password21
  password22 password23 password3 password4 password5 password69 password7 password77 password8 password88 password9
  password99 password@123 passwordpassword passwords passwort passwort1 passwort123 patricia patricia1 patrick1
  pavilion peaches1 peanut123 pennywise pepper123 perfect1 philippe phoenix1 pikachu1 pikachu123 pineapple pink1234
  pirates1 platinum playboy1 player123 playstation poohbear pokemon1 pokemon123 popcorn1 portugal poseidon power123
  predator presario preciosa precious precious1 president princesa princess princess1 princess12 princess123 princesse
  private1 progress prometheus property prosper1 pumpkin1 punisher purple123 pussycat q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6
  qazqazqaz qazwsx12 qazwsx123 qazwsxed qazwsxedc qazwsxedc123 qazwsxedcrfv qazxswed qazxswedc qqqqqqqq qqww1122
  qwaszx12 qwe123qwe qwe12345 qwe123456 qweasd123 qweasdzx qweasdzxc qweasdzxc123 qweqweqwe qwer1234 qwer12345 qwerasdf
  qwerqwer qwert123 qwert1234 qwert12345 qwerty00 qwerty01 qwerty1! qwerty11 qwerty12 qwerty123 qwerty123! qwerty1234
  qwerty12345 qwerty123456 qwerty21 qwerty22 qwerty321 qwerty55 qwerty77 qwerty78 qwerty99 qwertyqwerty qwertyui
  qwertyuio qwertyuiop qwertyuiop1 qwertyuiop123 qwertz123 qwertzui qwertzuiop r2d2c3po rabbit123 rachelle railroad
  rainbow1 rainbow6 rainbows ranger123 rangers1 raspberry rastaman realmadrid rebecca1 rebelde1 redskins redwings
  remember renegade republic resident revolution ricardo1 richard1 richmond robert123 roberto1 rockstar rockstar1
  rockyou1 rodriguez ronaldo1 ronaldo7 ronaldo123 rootroot rosebud1 roserose royalty1 rrrrrrrr runescape runescape1
  russell1 rosemary sabrina1 sagittarius sakura123 samantha samantha1 samsung1 samsung123 samuel123 sanchez1 sandiego
  sandra123 santiago sasha123 sasuke123 saturday savannah scarface scarlett schatzi1 scooby123 scoobydoo scooter1
  scorpion scorpio1 scorpions scotland scotland1 sebastian sebastian1 secret123 secret1234 security senators september
  september1 serenity seventeen sexybitch sexygirl sexylady sexymama shadow12 shadow123 shannon1 sharingan shithead shopping
  shalom123 silver123 simone123 simpsons skateboard skittles skywalker slayer666 slipknot slipknot1 snickers snoopy123
  snowball snowboard snowflake snowman1 soccer10 soccer11 soccer12 soccer123 softball softball1 something sonic123
  southern southside spartacus spiderma spiderman spiderman1 spitfire spongebob spongebob1 ssssssss stanford starcraft
  starfish startrek starwars starwars1 steelers steelers1 stella123 stephanie stephanie1 stephen1 stewart1 stingray
  strawberry strawberry1 student1 subaru123 sublime1 summer01 summer12 summer123 summer2020 summer2021 summer2022 summer2023
  summer2024 summer2025 sunflower sunflower1 sunshine sunshine1 sunshine12 sunshine123 super123 superman superman1
  superman12 superman123 supernatural superstar superstar1 supervisor surfer123 sweetheart sweetie1 sweetness sweetpea
  swimming swordfish system123 taekwondo tasha123 taurus123 taylor123 tazmania teddybear telephone temp1234 temppass
  temp12345 tennessee tequiero tequila1 teresita terminator test1234 test12345 test123456 testpass testtest testing1
  testing123 therock1 thirteen thomas123 thumper1 thunder1 thunderbird tiffany1 tiger123 tigger12 tigger123 timothy1
  tinkerbell tinkerbell1 titanic1 tokiohotel tottenham toyota123 trinidad trinity1 triumph1 trouble1 trustno1 tttttttt
  tunafish turkey123 turtle123 tweety123 twilight twilight1 twinkle1 tyler123 undertaker undertow unicorn1 universal
  unlocked user1234 usuckballz1 valencia valentina valentine valeria1 valeverga vampire1 vanessa1 vegeta123 verbatim
  veronica veronika vfrcbvrf victoria victoria1 victory1 vincent1 viktoria violetta virginia vkontakte volcom123
  volkswagen vsegda33 wachtwoord walker123 warcraft warcraft1 warcraft3 warhammer warrior1 warriors wednesday welcome1 welcome!
  welcome01 welcome1! welcome12 welcome123 welcome1234 welcome2 welcome@123 westside whatever whatever1 whatthefuck
  whiteboy wildcats william1 williams willow123 windows1 windows10 windows7 winner123 winston1 winter12 winter123
  winter2020 winter2021 winter2022 winter2023 winter2024 winter2025 wolfgang wolverine wolverine1 wonderful wonderland
  woodland wordpass wrestling wrestling1 wwwwwwww x4ivygA51f xbox3600 xiaoming xxxxxxxx yamaha123 yankees1 yankees2
  yellow123 yourmom1 yousuck1 yuantuo2012 yvonne123 yyyyyyyy z1x2c3v4 zachary1 zaq12wsx zaq1xsw2 zaq1zaq1 zaqwsxcde
  zaqxswcde zaqxsw123 zeppelin zhang123 zidane10 zinch123 zxc12345 zxc123456 zxcasdqwe zxcasdqwe123 zxcv1234 zxcvbnm1
  zxcvbnm12 zxcvbnm123 zxcvbnm, zxcvzxcv zxczxczxc zxcvbnmm zxcvbnm,./ zzzzzzzz
  `
    .toLowerCase()
    .match(/\S+/g),
)

/** True for one of the most common passwords, in any letter case. */
export function isCommonPassword(password: string): boolean {
  return COMMON.has(password.toLowerCase())
}
