import { type Command, usageError } from '../support/command.js';
import { print } from '../support/print.js';

/**
 * Each script asks the program itself (`kinora __complete -- <words>`), so that it never lags
 * behind the commands. The program answers with a candidate and its description a line, or with
 * `:files`.
 */
const scripts: Readonly<Record<string, string>> = {
  bash: `# Completion of kinora. Add to ~/.bashrc: source <(kinora completion bash)
_kinora() {
  local answer
  answer=$("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  if [[ $answer == ':files' ]]; then
    compopt -o default 2>/dev/null
    return
  fi
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(cut -f 1 <<<"$answer")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _kinora kinora`,
  zsh: `#compdef kinora
# Completion of kinora. Add to ~/.zshrc after compinit: source <(kinora completion zsh)
_kinora() {
  local -a lines described
  local line
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == ':files' ]]; then
    _files
    return
  fi
  for line in $lines; do described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}"); done
  _describe kinora described
}
compdef _kinora kinora`,
  fish: `# Completion of kinora. Save as ~/.config/fish/completions/kinora.fish
function __kinora_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    if test "$lines[1]" = ':files'
        __fish_complete_path (commandline -ct)
        return
    end
    printf '%s\\n' $lines
end
complete -c kinora -f -a '(__kinora_complete)'`,
};

export const completion: Command = {
  summary: 'print a script that completes commands, flags and IDs in bash, zsh or fish',
  args: ['<shell>'],
  settings: [],
  examples: ['source <(kinora completion bash)', 'kinora completion fish > ~/.config/fish/completions/kinora.fish'],
  run: async ({ args }) => {
    const name = args[0]!;
    if (!Object.hasOwn(scripts, name)) {
      throw usageError(`The shell must be one of ${Object.keys(scripts).join(', ')}, not ${JSON.stringify(name)}.`);
    }
    print(scripts[name]!);
    return 0;
  },
};
