declare const styles: {
  readonly jump: string
}
export default styles
