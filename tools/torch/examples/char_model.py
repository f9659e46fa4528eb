"""A small language model of characters, from text to checkpoint to new text.

    torchrun --nproc-per-node 4 tools/torch/examples/char_model.py --steps 300 --text FILE

A small GPT reads 32 characters and learns to guess the next one. By default its text is this program.
The processes divide the samples of each step among them. --checkpoint FILE saves at the end, and
continues from that file if it exists.
"""

import pathlib

import torch
import torch.distributed as distributed
import torch.nn as nn
import torch.nn.functional as functional
from torch.nn.parallel import DistributedDataParallel

import common

CONTEXT, WIDTH, HEADS, LAYERS, SAMPLES = 32, 48, 4, 2, 16


class Layer(nn.Module):
    """Attention to earlier characters, then two matrices for each character."""

    def __init__(self):
        super().__init__()
        self.before_attention, self.before_matrices = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.matrices = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attention(self, x):
        rows, length, _ = x.shape
        heads = self.query_key_value(x).view(rows, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*heads, is_causal=True)
        return self.join(seen.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.matrices(self.before_matrices(x))


class Model(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.character, self.place = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)), nn.LayerNorm(WIDTH))
        self.guess = nn.Linear(WIDTH, characters)

    def forward(self, x):
        return self.guess(self.layers(self.character(x) + self.place.weight[:x.shape[1]]))


class Text:
    def __init__(self, text):
        self.letters = sorted(set(text))
        numbers = {letter: number for number, letter in enumerate(self.letters)}
        self.data = torch.tensor([numbers[letter] for letter in text])

    def samples(self, step):
        """The samples of one step, the same in every process: characters, and the next ones."""
        begins = torch.randint(len(self.data) - CONTEXT - 1, (SAMPLES, 1),
                               generator=torch.Generator().manual_seed(step))
        rows = self.data[begins + torch.arange(CONTEXT + 1)]
        return rows[:, :-1], rows[:, 1:]


class Training:
    """The training on process `rank` of `ranks`."""

    def __init__(self, text, rank, ranks):
        torch.manual_seed(1)
        self.text, self.rank, self.ranks, self.losses = text, rank, ranks, []
        self.model = Model(len(text.letters))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)

    def run(self, steps):
        model = DistributedDataParallel(self.model) if self.ranks > 1 else self.model
        for step in range(len(self.losses), steps):
            x, y = (whole.chunk(self.ranks)[self.rank] for whole in self.text.samples(step))
            loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(common.mean_over_ranks(loss) if self.ranks > 1 else loss.item())
        return self.losses

    def save(self, path):
        if self.rank == 0:
            torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                        "losses": self.losses, "letters": self.text.letters}, path)
        distributed.barrier()

    def load(self, path):
        checkpoint = torch.load(path)
        if checkpoint["letters"] != self.text.letters:
            raise SystemExit(f"{path} was trained on another text: name that, or another checkpoint")
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.losses = checkpoint["losses"]

    @torch.no_grad()
    def write(self, length):
        """New text: each character is drawn with the model's probabilities."""
        written, dice = self.text.data[:1], torch.Generator().manual_seed(0)
        for _ in range(length):
            odds = self.model(written[None, -CONTEXT:])[0, -1].softmax(0)
            written = torch.cat([written, torch.multinomial(odds, 1, generator=dice)])
        return "".join(self.text.letters[number] for number in written)


def main():
    options = common.start(__doc__, text={"default": __file__, "help": "a file (default: this program)"},
                           checkpoint={"metavar": "FILE", "help": "saved at the end; read first if there"})
    text = Text(pathlib.Path(options.text).read_text(encoding="utf-8"))
    training = Training(text, distributed.get_rank(), distributed.get_world_size())
    if options.checkpoint and pathlib.Path(options.checkpoint).exists():
        training.load(options.checkpoint)
    common.report(training.run(options.steps), Training(text, 0, 1).run(options.steps), tolerance=1e-3)
    if options.checkpoint:
        training.save(options.checkpoint)
    if distributed.get_rank() == 0:
        print(training.write(200))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
