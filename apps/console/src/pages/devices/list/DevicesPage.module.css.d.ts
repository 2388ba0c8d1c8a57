declare const styles: {
  readonly few: string
  readonly place: string
}
export default styles
